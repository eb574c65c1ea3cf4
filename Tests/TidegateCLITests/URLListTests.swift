import Foundation
import Testing
import TidegateTestKit

@testable import TidegateCLI

/// Lists of URLs that are read as they are needed.
@Suite struct URLListTests {
    /// A file that is removed with its object.
    private final class File {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString).path

        init(_ text: String) throws { try text.write(toFile: self.path, atomically: true, encoding: .utf8) }

        deinit { try? FileManager.default.removeItem(atPath: self.path) }
    }

    private func entries(_ text: String) async throws -> [URLList.Entry] {
        let file = try File(text)
        let list = try URLList(file.path)
        var entries: [URLList.Entry] = []
        while let entry = try await list.next() {
            entries.append(URLList.Entry(url: entry.url, place: String(entry.place.dropFirst(file.path.count))))
        }
        return entries
    }

    @Test("A list skips comments and empty lines, and each URL has its line")
    func lines() async throws {
        let entries = try await self.entries("# c\nhttp://a/1\r\n\n  http://a/2  x\n#http://a/3\nhttp://a/4")
        #expect(
            entries == [
                .init(url: "http://a/1", place: ":2"), .init(url: "http://a/2", place: ":4"),
                .init(url: "http://a/4", place: ":6"),
            ])
        #expect(try await self.entries("").isEmpty)
    }

    @Test("A byte order mark before the first line is ignored, and one elsewhere is not")
    func byteOrderMark() async throws {
        let entries = try await self.entries("\u{FEFF}http://a/1\r\n\u{FEFF}http://a/2\r\n")
        #expect(entries.map(\.url) == ["http://a/1", "\u{FEFF}http://a/2"])
        #expect(try await self.entries("\u{FEFF}# c\nhttp://a/1").map(\.place) == [":2"])
    }

    @Test("A list longer than any buffer is read to its end")
    func long() async throws {
        let urls = (1...20_000).map { "http://a.example/\($0)" }
        let entries = try await self.entries(urls.joined(separator: "\n"))
        #expect(entries.map(\.url) == urls)
        #expect(entries.last?.place == ":20000")
    }

    @Test("A line that is too long, and a file that is not there, are named")
    func errors() async throws {
        let file = try File("http://a/1\n" + String(repeating: "x", count: 200_000))
        let list = try URLList(file.path)
        #expect(try await list.next()?.url == "http://a/1")
        await #expect(throws: CommandError(.no, "\(file.path):2: longer than 65536 bytes")) { try await list.next() }
        #expect(throws: CommandError(.no, "/nowhere/x: cannot be read: No such file or directory")) {
            try URLList("/nowhere/x")
        }
    }

    @Test("What a pipe has not sent yet is waited for, until it is not wanted any more")
    func pipe() async throws {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString).path
        #expect(mkfifo(path, 0o600) == 0)
        defer { unlink(path) }
        // Open for both, so that opening the other side does not block.
        let writer = open(path, O_RDWR | O_CLOEXEC)
        defer { close(writer) }
        let list = try URLList(path)
        #expect(write(writer, "http://a/1\nhttp", 15) == 15)
        #expect(try await list.next()?.url == "http://a/1")
        var questions = 0
        let none = try await list.next {
            questions += 1
            return questions < 3
        }
        #expect(none == nil && questions == 3)
        #expect(write(writer, "://a/2\n", 7) == 7)
        #expect(try await list.next()?.url == "http://a/2")
    }
}
