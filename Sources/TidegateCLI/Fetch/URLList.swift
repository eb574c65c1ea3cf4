internal import Glibc
internal import TidegateCore
internal import TidegateDaemon

/// The URLs of an input file: one per line; empty lines and lines that begin with `#` are skipped.
///
/// A file or standard input is read line by line, as lines are needed. Waiting for a line from a pipe blocks no thread.
final class URLList {
    /// A URL and its position, such as `urls.txt:17`.
    struct Entry: Hashable {
        let url: String
        let place: String
    }

    /// The name of the file in messages.
    private let name: String
    /// The number of the last line, counted from 1.
    private var number = 0
    private let descriptor: Int32
    private var buffer: ArraySlice<UInt8> = []
    private var isAtEnd = false
    private var reader: PipeReader

    private static let longestLine = 65_536

    /// Opens a file; `-` is standard input.
    init(_ file: String) throws(CommandError) {
        self.name = file == "-" ? "standard input" : file
        self.descriptor = file == "-" ? STDIN_FILENO : open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        // Other processes share standard input, so its flags are not changed.
        self.reader = PipeReader(descriptor: self.descriptor, blocks: file == "-")
        if self.descriptor < 0 { throw self.unreadable(errno) }
    }

    deinit { if self.descriptor > STDERR_FILENO { close(self.descriptor) } }

    /// The next URL; nil after the last one, or once `isWanted` returns false.
    func next(while isWanted: () -> Bool = { true }) async throws(CommandError) -> Entry? {
        while let line = try await self.nextLine(while: isWanted) {
            let word = line.drop(while: Self.isBlank).prefix { !Self.isBlank($0) }
            guard let first = word.first, first != UInt8(ascii: "#") else { continue }
            // Text that is not UTF-8 is rejected as an invalid URL.
            return Entry(url: String(decoding: word, as: UTF8.self), place: "\(self.name):\(self.number)")
        }
        return nil
    }

    private static func isBlank(_ byte: UInt8) -> Bool { byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }

    // The next line without its end; nil after the last one, or once `isWanted` returns false.
    private func nextLine(while isWanted: () -> Bool) async throws(CommandError) -> ArraySlice<UInt8>? {
        while true {
            if let end = self.buffer.firstIndex(of: UInt8(ascii: "\n")) {
                defer { self.buffer = self.buffer[(end + 1)...] }
                return self.line(upTo: end)
            }
            guard self.buffer.count <= Self.longestLine else {
                throw CommandError(.no, "\(self.name):\(self.number + 1): longer than \(Self.longestLine) bytes")
            }
            guard !self.isAtEnd else {
                defer { self.buffer = [] }
                return self.buffer.isEmpty ? nil : self.line(upTo: self.buffer.endIndex)
            }
            guard try await self.fill(while: isWanted) else { return nil }
        }
    }

    private func line(upTo end: Int) -> ArraySlice<UInt8> {
        self.number += 1
        var line = self.buffer[..<end]
        // Editors on Windows write a byte order mark (RFC 3629 6).
        if self.number == 1, line.starts(with: [0xEF, 0xBB, 0xBF]) { line = line.dropFirst(3) }
        return line.last == UInt8(ascii: "\r") ? line.dropLast() : line
    }

    // False once no more lines are wanted.
    private func fill(while isWanted: () -> Bool) async throws(CommandError) -> Bool {
        while true {
            switch self.reader.read() {
            case .bytes(let chunk):
                self.buffer += chunk
                return true
            case .end:
                self.isAtEnd = true
                return true
            case .failed(let code): throw self.unreadable(code)
            case .nothingYet:
                guard isWanted() else { return false }
                try? await Task.sleep(for: .milliseconds(20))
            }
        }
    }

    private func unreadable(_ code: Int32) -> CommandError {
        CommandError(.no, "\(self.name): cannot be read: \(SystemError.message(code))")
    }
}

/// The file names of one run, so that no file is written twice.
///
/// Only an eight-byte hash of each is kept, because a list may have millions.
struct FileNames {
    private var hashes: Set<Int> = []

    /// The file name of a URL; a name already used is an error.
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
    /// The file name in a URL: its decoded last path segment.
    static func name(for url: String) throws(TextError) -> String {
        let bare = url.prefix { $0 != "?" && $0 != "#" }
        let afterScheme = bare.split(separator: "/", maxSplits: 2, omittingEmptySubsequences: false)
        // "scheme:", an empty part, then "host/path".
        let hostAndPath = afterScheme.count == 3 ? afterScheme[2] : ""
        guard let slash = hostAndPath.firstIndex(of: "/") else { throw self.nameless(url) }
        let path = hostAndPath[hostAndPath.index(after: slash)...]
        let last = path.split(separator: "/", omittingEmptySubsequences: false).last ?? ""
        guard !last.isEmpty else { throw self.nameless(url) }
        // RFC 3986 2.1; a segment that does not decode to UTF-8 is used unchanged.
        let name = String(validating: PercentEncoding.decode(last), as: UTF8.self) ?? String(last)
        guard name != ".", name != "..", name.utf8.count <= 255,
            !name.unicodeScalars.contains(where: { $0.controlsTerminal || $0 == "/" })
        else { throw TextError("the last path segment of \"\(url)\" is not a valid file name; use -o") }
        return name
    }

    /// The file names of several URLs, in the same order; duplicates are an error.
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
}
