internal import TidegateDaemon

/// Reads URLs from a file: one a line; empty lines and lines that begin with `#` are left out.
enum URLList {
    /// The URLs in their order.
    static func parse(_ text: String) -> [String] {
        text.split(whereSeparator: \.isNewline).map { line in
            let start = line.drop { $0 == " " || $0 == "\t" }
            return String(start.prefix { $0 != " " && $0 != "\t" })
        }.filter { !$0.isEmpty && !$0.hasPrefix("#") }
    }

    /// The URLs of a file; `-` is the standard input.
    static func read(_ file: String) throws(Ending) -> [String] {
        do {
            let limit = 64 << 20
            let text = file == "-" ? try TextFile.read(0, atMost: limit) : try TextFile.read(file, atMost: limit)
            return self.parse(text)
        } catch {
            throw Ending(.no, "\(file == "-" ? "the standard input" : file): \(error)")
        }
    }
}
