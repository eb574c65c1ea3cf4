/// How a run that was interrupted is continued, as something to paste into a shell.
enum FetchContinuation {
    /// Options whose values are secrets, or may hold some.
    private static let secrets = ["--user", "--header", "--proxy", "--data", "--json-body"]

    /// The command that continues a run with these arguments; nil if it could not be pasted, because it has secrets or
    /// read its list from standard input.
    static func command(_ arguments: [String]) -> String? {
        guard let fetch = arguments.firstIndex(of: "fetch") else { return nil }
        for (position, word) in arguments.enumerated() {
            let isStandardInput = word == "-" && position > 0 && arguments[position - 1] == "--input-file"
            if isStandardInput || word == "--input-file=-" || self.isSecret(word) || self.hasUserInfo(word) {
                return nil
            }
        }
        var line = arguments
        if !line.contains("--continue") { line.insert("--continue", at: fetch + 1) }
        return (["tidegate"] + line.map(self.quoted)).joined(separator: " ")
    }

    // Short options may have their values behind them without a space.
    private static func isSecret(_ word: String) -> Bool {
        word.hasPrefix("-u") || word.hasPrefix("-H")
            || self.secrets.contains { word == $0 || word.hasPrefix("\($0)=") }
    }

    private static func hasUserInfo(_ word: String) -> Bool {
        let parts = word.split(separator: "/", maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3, word.contains("://") else { return false }
        return parts[2].prefix { $0 != "/" && $0 != "?" && $0 != "#" }.contains("@")
    }

    // POSIX shells: within single quotes only the single quote itself is special.
    private static func quoted(_ word: String) -> String {
        let isPlain = word.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"):
                true
            default: "-_./:=,@%+".utf8.contains(byte)
            }
        }
        guard word.isEmpty || !isPlain else { return word }
        let parts = word.split(separator: "'", omittingEmptySubsequences: false)
        return "'\(parts.joined(separator: "'\\''"))'"
    }
}
