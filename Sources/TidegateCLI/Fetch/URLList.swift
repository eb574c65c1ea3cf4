internal import TidegateDaemon

/// Reads URLs from a file: one per line; empty lines and lines that begin with `#` are skipped.
enum URLList {
    /// The URLs in their order.
    static func parse(_ text: String) -> [String] {
        text.split(whereSeparator: \.isNewline).map { line in
            let start = line.drop { $0 == " " || $0 == "\t" }
            return String(start.prefix { $0 != " " && $0 != "\t" })
        }.filter { !$0.isEmpty && !$0.hasPrefix("#") }
    }

    /// The URLs in a file; `-` is standard input.
    static func read(_ file: String) throws(CommandError) -> [String] {
        do {
            let limit = 64 << 20
            let text = file == "-" ? try TextFile.read(0, atMost: limit) : try TextFile.read(file, atMost: limit)
            return self.parse(text)
        } catch {
            throw CommandError(.no, "\(file == "-" ? "standard input" : file): \(error)")
        }
    }
}
