/// The content of a string or of bytes, while it is read.
struct QuotedLiteral {
    let isRaw: Bool
    /// Whether `\x` and octal escapes are bytes, and not Unicode scalars.
    let isBytes: Bool
    /// What was read, in UTF-8.
    private(set) var bytes: [UInt8] = []

    private static let simple: [Unicode.Scalar: UInt8] = [
        "a": 7, "b": 8, "f": 12, "n": 10, "r": 13, "t": 9, "v": 11, "\\": 0x5C, "?": 0x3F, "\"": 0x22, "'": 0x27,
        "`": 0x60,
    ]

    /// Adds the first scalar of `rest`, or the escape that it begins; returns how many scalars that took.
    mutating func add(_ rest: ArraySlice<Unicode.Scalar>) throws(CELError) -> Int {
        guard let first = rest.first else { return 0 }
        guard first == "\\", !self.isRaw else {
            self.bytes += Array(String(first).utf8)
            return 1
        }
        let place = rest.startIndex
        guard let kind = rest.dropFirst().first else { throw CELError("an escape has no end", at: place) }
        if let byte = Self.simple[kind] {
            self.bytes.append(byte)
            return 2
        }
        let (digits, skipped, radix) =
            switch kind {
            case "x", "X": (2, 2, 16)
            case "u" where !self.isBytes: (4, 2, 16)
            case "U" where !self.isBytes: (8, 2, 16)
            case "0"..."3": (3, 1, 8)
            default: (0, 0, 0)
            }
        let text = rest.dropFirst(skipped).prefix(digits).map(String.init).joined()
        guard digits > 0, text.utf8.count == digits, text.first != "+", text.first != "-",
            let number = UInt32(text, radix: radix)
        else { throw CELError("an escape is unknown", at: place) }
        if self.isBytes {
            guard let byte = UInt8(exactly: number) else { throw CELError("an escape is no byte", at: place) }
            self.bytes.append(byte)
        } else {
            guard let scalar = Unicode.Scalar(number) else { throw CELError("an escape is no character", at: place) }
            self.bytes += Array(String(scalar).utf8)
        }
        return skipped + digits
    }
}
