internal import CNetlink
internal import Glibc
package import TidegateCore

/// A request for all sockets of some states (`struct inet_diag_req_v2`, sock_diag(7)).
package struct SocketDump: Sendable, Hashable {
    /// The states that are wanted.
    package struct States: OptionSet, Sendable, Hashable {
        package let rawValue: UInt32
        package init(rawValue: UInt32) { self.rawValue = rawValue }

        /// Those of `states`.
        package init(_ states: SocketReport.State...) {
            self.init(rawValue: states.reduce(0) { $0 | 1 << UInt32($1.rawValue) })
        }

        /// A connection that is being opened.
        package static let connecting = States(.synSent)
        /// Connections on which data may go in some direction.
        package static let live = States(.established, .finWait1, .finWait2, .closeWait, .lastAck, .closing)
        package static let listeners = States(.listen)
    }

    package var family: AddressFamily
    package var states: States
    /// Whether each report has its ``SocketReport/tcp``, which costs about a fifth more.
    package var asksForInfo: Bool

    /// A request from its parts.
    package init(_ family: AddressFamily, _ states: States, asksForInfo: Bool = false) {
        self.family = family
        self.states = states
        self.asksForInfo = asksForInfo
    }

    /// The request as it is sent.
    func message(sequence: UInt32) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: 72)
        func put<Number: FixedWidthInteger>(_ number: Number, at offset: Int) {
            withUnsafeBytes(of: number) { bytes.replaceSubrange(offset..<offset + $0.count, with: $0) }
        }
        put(UInt32(bytes.count), at: 0)
        // SOCK_DIAG_BY_FAMILY.
        put(UInt16(20), at: 4)
        put(UInt16(NLM_F_REQUEST | NLM_F_DUMP), at: 6)
        put(sequence, at: 8)
        bytes[16] = UInt8(self.family.domain)
        bytes[17] = UInt8(IPPROTO_TCP)
        // Bit n − 1 asks for attribute n; INET_DIAG_INFO is 2. The control group comes unasked.
        bytes[18] = self.asksForInfo ? 0x02 : 0
        put(self.states.rawValue, at: 20)
        // Any cookie (INET_DIAG_NOCOOKIE).
        put(UInt64.max, at: 64)
        return bytes
    }
}
