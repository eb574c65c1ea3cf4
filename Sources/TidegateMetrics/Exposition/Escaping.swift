/// What has to be written differently inside quotes and behind `# HELP`.
enum Escaping {
    /// Appends a help text; only OpenMetrics escapes its quotes.
    static func append(help text: String, for format: ExpositionFormat, to bytes: inout [UInt8]) {
        self.append(text, quotes: format.isOpenMetrics, to: &bytes)
    }

    /// A help text; only OpenMetrics escapes its quotes.
    static func help(_ text: String, for format: ExpositionFormat) -> [UInt8] {
        var bytes: [UInt8] = []
        self.append(help: text, for: format, to: &bytes)
        return bytes
    }

    /// `name{first="…",second="…"} `, or `name ` without labels.
    ///
    /// Invalid UTF-8 became U+FFFD when the strings were made.
    static func samplePrefix(_ name: String, _ labels: [String], _ values: [String]) -> [UInt8] {
        var bytes: [UInt8] = []
        self.append(samplePrefix: name, labels, values, to: &bytes)
        return bytes
    }

    /// Appends what ``samplePrefix(_:_:_:)`` gives.
    static func append(samplePrefix name: String, _ labels: [String], _ values: [String], to bytes: inout [UInt8]) {
        bytes += name.utf8
        for (position, (label, value)) in zip(labels, values).enumerated() {
            bytes.append(UInt8(ascii: position == 0 ? "{" : ","))
            bytes += label.utf8
            bytes.append(UInt8(ascii: "="))
            bytes.append(UInt8(ascii: "\""))
            self.append(value, quotes: true, to: &bytes)
            bytes.append(UInt8(ascii: "\""))
        }
        if !labels.isEmpty { bytes.append(UInt8(ascii: "}")) }
        bytes.append(UInt8(ascii: " "))
    }

    private static func append(_ text: String, quotes: Bool, to bytes: inout [UInt8]) {
        // As nearly every text is.
        guard text.utf8.contains(where: self.isSpecial) else {
            bytes += text.utf8
            return
        }
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "\\"): bytes += [byte, byte]
            case UInt8(ascii: "\n"): bytes += [UInt8(ascii: "\\"), UInt8(ascii: "n")]
            case UInt8(ascii: "\"") where quotes: bytes += [UInt8(ascii: "\\"), byte]
            default: bytes.append(byte)
            }
        }
    }

    private static func isSpecial(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: "\\") || byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\"")
    }
}
