internal import TidegateCore

/// The names of the files of one run, so that none is written twice.
///
/// Eight bytes are kept of each, because a list may have millions.
struct FileNames {
    private var hashes: Set<Int> = []

    /// The file name of a URL; the same name a second time is an error.
    mutating func name(for url: String) throws(TextError) -> String {
        let name = try FileNaming.name(for: url)
        guard self.hashes.insert(name.hashValue).inserted else {
            throw TextError("\"\(url)\" has the same file name as another URL, \(name)")
        }
        return name
    }
}

/// File names from URLs.
enum FileNaming {
    /// The decoded last path segment of a URL.
    static func name(for url: String) throws(TextError) -> String {
        let bare = url.prefix { $0 != "?" && $0 != "#" }
        let afterScheme = bare.split(separator: "/", maxSplits: 2, omittingEmptySubsequences: false)
        // "scheme:", an empty part, then "host/path".
        let hostAndPath = afterScheme.count == 3 ? afterScheme[2] : ""
        guard let slash = hostAndPath.firstIndex(of: "/") else { throw self.nameless(url) }
        let path = hostAndPath[hostAndPath.index(after: slash)...]
        let last = path.split(separator: "/", omittingEmptySubsequences: false).last ?? ""
        guard !last.isEmpty, let name = self.decoded(last) else { throw self.nameless(url) }
        guard name != ".", name != "..", name.utf8.count <= 255,
            name.unicodeScalars.allSatisfy({ $0.value >= 0x20 && $0.value != 0x7F && $0 != "/" })
        else { throw TextError("the last path segment of \"\(url)\" is not a valid file name; use -o") }
        return name
    }

    /// The file names of several URLs, in their order; duplicates are an error.
    static func names(for urls: [String]) throws(TextError) -> [String] {
        var owners: [String: String] = [:]
        var names: [String] = []
        for url in urls {
            let name = try self.name(for: url)
            if let other = owners[name] {
                throw TextError("\"\(other)\" and \"\(url)\" have the same file name, \(name)")
            }
            owners[name] = url
            names.append(name)
        }
        return names
    }

    private static func nameless(_ url: String) -> TextError {
        TextError("no file name in URL \"\(url)\"; use -o")
    }

    // RFC 3986 2.1; a segment that does not decode to UTF-8 is used as it is.
    private static func decoded(_ text: Substring) -> String? {
        String(validating: PercentEncoding.decode(text), as: UTF8.self) ?? String(text)
    }
}
