internal import Glibc
internal import TidegateCore

/// The connection an attempt got, as libcurl's prerequest callback gives it.
struct ConnectionInfo {
    /// How often the request was started.
    var tries = 0
    /// Whether we opened a socket for this attempt.
    var hasOpened = false
    /// Whether a silent repetition was stopped.
    var isVetoed = false
    /// The local port of the connection; 0 before the request was started.
    private(set) var localPort: UInt16 = 0
    private var local = CachedAddress()
    private var remote = CachedAddress()

    mutating func note(local: UnsafePointer<CChar>?, remote: UnsafePointer<CChar>?, localPort: Int32) {
        self.localPort = UInt16(truncatingIfNeeded: localPort)
        self.local.note(local)
        self.remote.note(remote)
    }

    /// The addresses; nil before the request was started.
    mutating func contact() -> ConnectionFacts? {
        guard self.tries > 0 else { return nil }
        return ConnectionFacts(local: self.local.parsed(), remote: self.remote.parsed(), isReused: !self.hasOpened)
    }

    mutating func clear() {
        self.tries = 0
        self.hasOpened = false
        self.localPort = 0
        self.isVetoed = false
    }
}

/// An address that is parsed only when its text has changed: the next attempt mostly has the same.
private struct CachedAddress {
    private var text: [CChar] = []
    private var isParsed = false
    private var address: IPAddress?

    mutating func note(_ text: UnsafePointer<CChar>?) {
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
