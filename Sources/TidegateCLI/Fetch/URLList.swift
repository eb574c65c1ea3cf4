/// The URLs of an input file: one per line; empty lines and lines that begin with `#` are skipped.
struct URLList {
    /// A URL, and where it is: `urls.txt:17`.
    struct Entry: Hashable {
        let url: String
        let place: String
    }

    private let lines: LineReader

    /// Opens a file; `-` is standard input.
    init(_ file: String) throws(CommandError) { self.lines = try LineReader(file) }

    /// The next URL; nil after the last one, and once `isWanted` says no.
    func next(while isWanted: () -> Bool = { true }) async throws(CommandError) -> Entry? {
        while let line = try await self.lines.next(while: isWanted) {
            let word = line.drop(while: Self.isBlank).prefix { !Self.isBlank($0) }
            guard let first = word.first, first != UInt8(ascii: "#") else { continue }
            // What is not UTF-8 is no URL either, and is refused as one.
            return Entry(url: String(decoding: word, as: UTF8.self), place: "\(self.lines.name):\(self.lines.number)")
        }
        return nil
    }

    private static func isBlank(_ byte: UInt8) -> Bool { byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }
}
