internal import Glibc
internal import TidegateCore

/// Logins and passwords of hosts, as ftp(1) and curl(1) read them (netrc(5)).
///
/// libcurl's own reader (CURLOPT_NETRC_FILE(3)) reads the file again for every attempt and hop, on the thread of all
/// transfers, waits for pipes without a limit, and reports no line.
struct Netrc {
    private struct Entry {
        /// The host in lower case; nil for `default`.
        var host: String?
        var login: String?
        var password: String?
        /// The protocol and the port that it is for, as they stand there.
        var services: [String] = []
    }

    private var entries: [Entry] = []
    /// The numbers of lines with words that are skipped, which may be misspelt keywords.
    private(set) var unknownLines: [Int] = []

    /// The user's own file, `~/.netrc`.
    static var ownFile: String? {
        if let home = Terminal.variable("HOME") { return "\(home)/.netrc" }
        return getpwuid(geteuid()).map { "\(String(cString: $0.pointee.pw_dir))/.netrc" }
    }

    /// Reads a file; a missing file has no entries, unless it `isRequired`.
    ///
    /// - Throws: ``TextError`` with the file, and with the line for a syntax error.
    init(_ file: String, isRequired: Bool) throws(TextError) {
        if !isRequired, access(file, F_OK) != 0, errno == ENOENT { return }
        let text = try PipedFile.text(of: file, atMost: 1 << 20)
        try Result { try self.parse(text) }.mapError { TextError("\(file):\($0)") }.get()
    }

    /// The entries of a text.
    init(text: String) throws(TextError) { try self.parse(text) }

    /// The credentials of the first entry for a host, or of `default`; only for `login`, if given.
    ///
    /// An entry that names a protocol or a port is for that service alone: `services` are the URL's scheme and port.
    func credentials(for host: String, login: String? = nil, over services: [String] = []) -> Credentials? {
        let entry = self.entries.first { entry in
            (entry.host == nil || entry.host == host) && (login == nil || entry.login == nil || entry.login == login)
                && entry.services.allSatisfy(services.contains)
        }
        guard let entry, let user = login ?? entry.login, let password = entry.password else { return nil }
        return Credentials(user: user, password: password)
    }

    // MARK: - Parsing

    private mutating func parse(_ text: String) throws(TextError) {
        var isInMacro = false
        // Line ends of Windows are single characters.
        let lines = text.split(omittingEmptySubsequences: false) { ["\n", "\r\n", "\r"].contains($0) }
        for (index, line) in lines.enumerated() {
            // A macro ends with an empty line.
            if isInMacro {
                isInMacro = !line.allSatisfy(\.isWhitespace)
                continue
            }
            isInMacro = try Result { try self.parse(line: line, number: index + 1) }
                .mapError { TextError("\(index + 1): \($0)") }.get()
        }
    }

    /// The words before a value; the last four are those of other readers, such as git's and Emacs's.
    private static let keywords: Set = [
        "machine", "login", "password", "account", "macdef", "protocol", "port", "path", "force",
    ]

    /// The keyword whose value follows, on this line or a later one.
    private var open: String?

    // True if a macro begins.
    private mutating func parse(line: Substring, number: Int) throws(TextError) -> Bool {
        var rest = line
        while let word = try Netrc.word(&rest) {
            if let keyword = self.open {
                self.open = nil
                if keyword == "macdef" { return true }
                try self.set(keyword, to: word)
                continue
            }
            let keyword = word.lowercased()
            if keyword == "default" {
                self.entries.append(Entry())
            } else if Netrc.keywords.contains(keyword) {
                self.open = keyword
            } else if word.hasPrefix("#") {
                return false
            } else if self.unknownLines.last != number {
                self.unknownLines.append(number)
            }
        }
        return false
    }

    private mutating func set(_ keyword: String, to value: String) throws(TextError) {
        if keyword == "machine" { return self.entries.append(Entry(host: value.lowercased())) }
        guard !self.entries.isEmpty else { throw TextError("\(keyword) before any machine") }
        switch keyword {
        case "login": self.entries[self.entries.count - 1].login = value
        case "password": self.entries[self.entries.count - 1].password = value
        case "protocol", "port": self.entries[self.entries.count - 1].services.append(value.lowercased())
        default: break
        }
    }

    // A word ends at white space; a quoted word may contain white space and escapes.
    private static func word(_ rest: inout Substring) throws(TextError) -> String? {
        rest = rest.drop(while: \.isWhitespace)
        guard let first = rest.first else { return nil }
        guard first == "\"" else {
            let word = rest.prefix { !$0.isWhitespace }
            rest = rest[word.endIndex...]
            return String(word)
        }
        rest.removeFirst()
        var word = ""
        while let character = rest.popFirst() {
            switch character {
            case "\"": return word
            case "\\":
                guard let escaped = rest.popFirst() else { throw TextError("a quotation mark is not closed") }
                word.append(["n": "\n", "r": "\r", "t": "\t"][escaped] ?? escaped)
            default: word.append(character)
            }
        }
        throw TextError("a quotation mark is not closed")
    }
}
