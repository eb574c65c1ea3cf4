/// Copies a JSON text without `null` members and elements, at every level.
///
/// Works on text, so that numbers keep every digit. The text must be valid; the result for an invalid text is
/// unspecified.
struct JSONNullRemover {
    private let bytes: [UInt8]
    private var offset = 0
    private var copy: [UInt8] = []

    /// The text without nulls; a text that is only `null` is unchanged.
    static func remove(from bytes: [UInt8]) -> [UInt8] {
        var remover = JSONNullRemover(bytes)
        return remover.copyValue() ? remover.copy : Array("null".utf8)
    }

    private init(_ bytes: [UInt8]) {
        self.bytes = bytes
        // Skips a byte order mark.
        if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { self.offset = 3 }
        self.copy.reserveCapacity(bytes.count)
    }

    // The next byte that is not white space; 0 at the end.
    private mutating func next() -> UInt8 {
        while self.offset < self.bytes.count, [0x20, 0x09, 0x0A, 0x0D].contains(self.bytes[self.offset]) {
            self.offset += 1
        }
        return self.offset < self.bytes.count ? self.bytes[self.offset] : 0
    }

    // Returns false and copies nothing for `null`.
    private mutating func copyValue() -> Bool {
        switch self.next() {
        case UInt8(ascii: "{"): self.copyAll(until: UInt8(ascii: "}"), named: true)
        case UInt8(ascii: "["): self.copyAll(until: UInt8(ascii: "]"), named: false)
        case UInt8(ascii: "\""): self.copyString()
        case UInt8(ascii: "n"):
            self.offset += 4
            return false
        default: self.copyWord()
        }
        return true
    }

    private mutating func copyAll(until end: UInt8, named: Bool) {
        self.copy.append(self.bytes[self.offset])
        self.offset += 1
        var isFirst = true
        while self.next() != end, self.offset < self.bytes.count {
            let start = self.copy.count
            if !isFirst { self.copy.append(UInt8(ascii: ",")) }
            if named {
                self.copyString()
                _ = self.next()
                self.offset += 1
                self.copy.append(UInt8(ascii: ":"))
            }
            if self.copyValue() { isFirst = false } else { self.copy.removeLast(self.copy.count - start) }
            if self.next() == UInt8(ascii: ",") { self.offset += 1 }
        }
        self.offset += 1
        self.copy.append(end)
    }

    private mutating func copyString() {
        let start = self.offset
        self.offset += 1
        while self.offset < self.bytes.count, self.bytes[self.offset] != UInt8(ascii: "\"") {
            self.offset += self.bytes[self.offset] == UInt8(ascii: "\\") ? 2 : 1
        }
        self.offset = min(self.offset + 1, self.bytes.count)
        self.copy += self.bytes[start..<self.offset]
    }

    private mutating func copyWord() {
        let ends: Set<UInt8> = [0x20, 0x09, 0x0A, 0x0D, UInt8(ascii: ","), UInt8(ascii: "]"), UInt8(ascii: "}")]
        let start = self.offset
        while self.offset < self.bytes.count, self.offset == start || !ends.contains(self.bytes[self.offset]) {
            self.offset += 1
        }
        self.copy += self.bytes[start..<self.offset]
    }
}
