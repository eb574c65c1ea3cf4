internal import CNetlink
internal import Glibc
package import TidegateCore

/// The socket on which the live sockets of a network namespace are listed.
package final class SocketDumpChannel {
    private static let timeoutSeconds = 2

    private let options: NetlinkOptions
    private var socket: NetlinkSocket
    private var sequence: UInt32 = 0

    /// A channel.
    ///
    /// - Throws: What the kernel or a sandbox refuses.
    package init(_ options: NetlinkOptions) throws(NetlinkError) {
        self.options = options
        self.socket = try Self.open(options)
    }

    private static func open(_ options: NetlinkOptions) throws(NetlinkError) -> NetlinkSocket {
        if let refusal = options.refusal(.socketDumps) { throw refusal }
        let socket = try NetlinkSocket.connected(
            .socketDumps, options, bufferBytes: 1 << 20, protocol: SocketEndingChannel.protocolNumber)
        socket.setQueryOptions(timeoutSeconds: Self.timeoutSeconds)
        return socket
    }

    /// Lists sockets; one may be missing or come twice while others come and go.
    ///
    /// - Throws: What the kernel refuses, such as a kernel without the part that lists sockets (ENOENT).
    package func dump(_ request: SocketDump, _ body: (SocketReport) -> Void) throws(NetlinkError) {
        self.sequence &+= 1
        let (sequence, operation) = (self.sequence, "listing sockets")
        let message = request.message(sequence: sequence)
        var problem: NetlinkError?
        message.withUnsafeBytes { bytes in
            do throws(NetlinkError) { try self.socket.send(bytes) } catch { problem = error }
        }
        if let problem { throw problem }
        var isDone = false
        while !isDone {
            let received = self.socket.receive { bytes in
                SocketMessageDecoder.decode(bytes) { number, message in
                    guard number == sequence else { return }
                    switch message {
                    case .socket(let report): body(report)
                    case .done(let code), .refused(let code):
                        isDone = true
                        if code != 0 { problem = NetlinkError(operation: operation, errno: code) }
                    case .ignored, .malformed: break
                    }
                }
            }
            switch received {
            case .datagram, .foreign: continue
            case .nothing: problem = NetlinkError(operation: operation, text: "no answer in time")
            case .overrun, .truncated: problem = NetlinkError(operation: operation, text: "a part of the list was lost")
            case .failed(let error): problem = error
            }
            // The kernel still holds the rest of this list for the socket.
            self.socket = try Self.open(self.options)
            isDone = true
        }
        if let problem { throw problem }
    }
}

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
