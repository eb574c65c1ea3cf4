internal import TidegateCore

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
        return (["tidegate"] + line.map(ShellWord.quoted)).joined(separator: " ")
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
}
