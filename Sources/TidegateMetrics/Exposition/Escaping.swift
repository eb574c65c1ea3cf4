/// What has to be written differently inside quotes and behind `# HELP`.
enum Escaping {
    /// A help text; only OpenMetrics escapes its quotes.
    static func help(_ text: String, for format: ExpositionFormat) -> [UInt8] {
        self.escaped(text, quotes: format.isOpenMetrics)
    }

    /// `name{first="…",second="…"} `, or `name ` without labels.
    ///
    /// Invalid UTF-8 became U+FFFD when the strings were made.
    static func samplePrefix(_ name: String, _ labels: [String], _ values: [String]) -> [UInt8] {
        var bytes = Array(name.utf8)
        for (position, (label, value)) in zip(labels, values).enumerated() {
            bytes.append(UInt8(ascii: position == 0 ? "{" : ","))
            bytes += label.utf8
            bytes += "=\"".utf8
            bytes += self.escaped(value, quotes: true)
            bytes.append(UInt8(ascii: "\""))
        }
        if !labels.isEmpty { bytes.append(UInt8(ascii: "}")) }
        bytes.append(UInt8(ascii: " "))
        return bytes
    }

    private static func escaped(_ text: String, quotes: Bool) -> [UInt8] {
        // As nearly every text is.
        guard text.utf8.contains(where: self.isSpecial) else { return Array(text.utf8) }
        var bytes: [UInt8] = []
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "\\"): bytes += [byte, byte]
            case UInt8(ascii: "\n"): bytes += [UInt8(ascii: "\\"), UInt8(ascii: "n")]
            case UInt8(ascii: "\"") where quotes: bytes += [UInt8(ascii: "\\"), byte]
            default: bytes.append(byte)
            }
        }
        return bytes
    }

    private static func isSpecial(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: "\\") || byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\"")
    }
}
