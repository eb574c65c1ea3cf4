/// Words of a shell command.
package enum ShellWord {
    /// `word` quoted so that a POSIX shell reads it as one unchanged word.
    ///
    /// Within single quotes only the single quote itself is special (POSIX.1-2017 XCU 2.2.2).
    package static func quoted(_ word: String) -> String {
        let isPlain = word.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"):
                true
            default: "-_./:=,@%+".utf8.contains(byte)
            }
        }
        guard word.isEmpty || !isPlain else { return word }
        // Scalars, because a quote with a combining mark behind it is another character than a quote.
        let parts = word.unicodeScalars.split(separator: "'", omittingEmptySubsequences: false).map(String.init)
        return "'\(parts.joined(separator: "'\\''"))'"
    }
}
