internal import Glibc
package import TidegateCore

/// An attempt's tries to connect, and the connection it got.
///
/// Several addresses are tried at once or one after the other.
struct ConnectionInfo {
    /// How often the request was started on the wire.
    private(set) var starts = 0
    /// Whether a socket was opened for this attempt.
    var hasOpened = false
    /// Whether the kept connection was dropped before the request was sent, because something had arrived on it.
    var isGivenUp = false
    /// Whether a socket could not be opened because no descriptor was free.
    var lackedDescriptor = false
    /// Whether one of the tries became a connection.
    var hasConnected = false
    /// The address of that connection.
    var connectedAddress: IPAddress?
    /// The failed try that came furthest: it tells more than one that this host did not let out at all.
    private(set) var bestFailure: FailedConnect?
    /// The addresses that had their time and did not answer.
    private(set) var silentAddresses: [IPAddress] = []
    /// The local port of the connection; 0 before the request was started.
    private(set) var localPort: UInt16 = 0
    /// What the server showed in the handshake; nil before, and without TLS.
    var certificates: ServerCertificates?
    private var local = CachedAddress()
    private var remote = CachedAddress()

    /// Whether a connection was made, or an earlier one is used.
    var isConnected: Bool { self.hasConnected || self.starts > 0 }

    /// Whether the attempt has, or is getting, a connection.
    var usesConnection: Bool { self.hasOpened || self.starts > 0 }

    mutating func noteFailure(_ failure: FailedConnect) {
        if failure.isSilence, let address = failure.address, !self.silentAddresses.contains(address) {
            self.silentAddresses.append(address)
        }
        // The first of several equal ones was preferred by the order of the addresses.
        if let best = self.bestFailure, best.rank >= failure.rank, best.address != failure.address { return }
        self.bestFailure = failure
    }

    /// The request is about to be sent, as libcurl's prerequest callback says.
    mutating func noteStart(local: UnsafePointer<CChar>?, remote: UnsafePointer<CChar>?, localPort: Int32) {
        self.starts += 1
        self.localPort = UInt16(truncatingIfNeeded: localPort)
        self.local.update(local)
        self.remote.update(remote)
    }

    /// The connection; nil before the request was started.
    mutating func facts() -> ConnectionFacts? {
        guard self.starts > 0 else { return nil }
        return ConnectionFacts(local: self.local.parsed(), remote: self.remote.parsed(), isReused: !self.hasOpened)
    }

    /// Forgets the attempt; the parsed addresses stay for the next one.
    mutating func clear() {
        // What was parsed stays: the next attempt usually has the same addresses.
        let (local, remote) = (self.local, self.remote)
        self = ConnectionInfo()
        (self.local, self.remote) = (local, remote)
    }
}

/// An address that is parsed only when its text has changed: the next attempt usually has the same.
private struct CachedAddress {
    private var text: [CChar] = []
    private var isParsed = false
    private var address: IPAddress?

    mutating func update(_ text: UnsafePointer<CChar>?) {
        guard let text else {
            self = CachedAddress()
            return
        }
        let length = strlen(text) + 1
        if self.text.count == length, memcmp(self.text, text, length) == 0 { return }
        self.text = Array(UnsafeBufferPointer(start: text, count: length))
        self.isParsed = false
    }

    mutating func parsed() -> IPAddress? {
        if !self.isParsed {
            let bytes = self.text.dropLast().map { UInt8(bitPattern: $0) }
            self.address = IPAddress(String(decoding: bytes, as: UTF8.self))
            self.isParsed = true
        }
        return self.address
    }
}

/// How a try to connect ended that did not become a connection.
package struct FailedConnect: Sendable, Hashable {
    /// The address that was tried.
    package var address: IPAddress?
    /// Our address; nil if the kernel had chosen none.
    package var local: IPAddress?
    /// The error number (errno(3)); 0 if the try was still waiting for an answer.
    package var errorNumber: Int32 = 0
    /// The ICMP error that refused it, if one did.
    package var refusal: ICMPError?
    /// Whether the kernel refused in the very call that asked for the connection.
    package var isImmediate = false
    /// How often the first packet was repeated.
    package var retransmits = 0

    /// Whether the address had its time, and nothing came.
    var isSilence: Bool {
        self.refusal == nil && (self.errorNumber == ETIMEDOUT || (self.errorNumber == 0 && self.retransmits > 0))
    }

    /// How far the try came: from 1, not having left this host, to 5, having been answered by the other one.
    var rank: Int {
        if let refusal {
            if refusal.isFrom(self.address) { return 5 }
            return refusal.offender == nil || refusal.isFrom(self.local) ? 2 : 4
        }
        switch self.errorNumber {
        case ECONNREFUSED, ECONNRESET: return 5
        // One that was given up before its first packet was repeated had no time to be answered.
        case 0: return self.retransmits > 0 ? 3 : 2
        case ETIMEDOUT: return 3
        default: return self.isImmediate ? 1 : 2
        }
    }
}
