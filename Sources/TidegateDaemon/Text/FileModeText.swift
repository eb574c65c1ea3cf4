/// Reads permission bits in octal.
enum FileModeText {
    /// Up to `0777`: what is downloaded never becomes a program that runs as its owner.
    static func parse(_ text: String) throws(TextError) -> UInt16 {
        guard (3...4).contains(text.count), let mode = UInt16(text, radix: 8) else {
            throw TextError("\"\(text)\" is not a file mode: write one like \"0640\"")
        }
        guard mode <= 0o777 else {
            throw TextError("\"\(text)\" has more than reading, writing and executing: write a mode like \"0640\"")
        }
        return mode
    }
}
