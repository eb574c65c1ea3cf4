internal import Glibc
internal import TidegateCore

/// An attempt's tries to connect, and the connection it got.
///
/// Several addresses are tried at once or one after the other.
struct ConnectionInfo {
    /// How often the request was started on the wire.
    private(set) var starts = 0
    /// Whether a socket was opened for this attempt.
    private(set) var hasOpened = false
    /// Whether the kept connection was dropped before the request was sent, because something had arrived on it.
    var isGivenUp = false
    /// Whether a socket could not be opened because no descriptor was free.
    var lackedDescriptor = false
    /// Whether one of the tries became a connection.
    private(set) var hasConnected = false
    /// The address of that connection.
    private(set) var connectedAddress: IPAddress?
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

    mutating func noteOpened() { self.hasOpened = true }

    mutating func noteConnected(to address: IPAddress?) {
        self.hasConnected = true
        self.connectedAddress = address
    }

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
