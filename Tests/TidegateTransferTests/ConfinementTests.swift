internal import Foundation
internal import TidegateCore
internal import Testing
internal import TidegateTestKit

@testable internal import TidegateTransfer

@Suite("Files that must stay below a directory")
struct ConfinementTests {
    /// `allowed`, where the tasks' files are, and `outside` beside it.
    private final class Place {
        let root = "/tmp/tidegate-confined-\(UUID().uuidString.prefix(8))"
        var allowed: String { "\(self.root)/allowed" }
        var outside: String { "\(self.root)/outside" }

        init() throws {
            for name in ["allowed/sub", "outside"] {
                try FileManager.default.createDirectory(
                    atPath: "\(self.root)/\(name)", withIntermediateDirectories: true)
            }
            try self.write("secret", to: "outside/f")
        }

        deinit { try? FileManager.default.removeItem(atPath: self.root) }

        func write(_ text: String, to name: String) throws {
            try text.write(toFile: "\(self.root)/\(name)", atomically: false, encoding: .utf8)
        }

        func text(_ name: String) -> String? { try? String(contentsOfFile: "\(self.root)/\(name)", encoding: .utf8) }

        func names(_ name: String) throws -> [String] {
            try FileManager.default.contentsOfDirectory(atPath: "\(self.root)/\(name)").sorted()
        }

        func location(_ name: String) -> FileLocation {
            FileLocation("\(self.allowed)/\(name)", below: [self.allowed])
        }

        func paths(_ name: String) -> DownloadPaths {
            DownloadPaths(destination: "\(self.allowed)/\(name)", below: [self.allowed])
        }

        /// Puts a link to `outside` in the place of the directory `allowed/sub`.
        func swapForLink() throws {
            try FileManager.default.moveItem(atPath: "\(self.allowed)/sub", toPath: "\(self.root)/moved")
            try self.link("allowed/sub", to: self.outside)
        }

        func link(_ name: String, to target: String) throws {
            try FileManager.default.createSymbolicLink(atPath: "\(self.root)/\(name)", withDestinationPath: target)
        }
    }

    @Test(
        "A path counts as below a directory by its components, and never with ..",
        arguments: [
            ("/srv/in/a", true), ("/srv/in/a/b", true), ("//srv//in//a", true), ("/srv/in/./a", true),
            ("/srv/in", false), ("/srv/in/", false), ("/srv/inner/a", false), ("/srv/a", false), ("/etc/passwd", false),
            ("/srv/in/../a", false), ("/srv/in/..", false), ("/srv/in/a/../../../etc/passwd", false), ("in/a", false),
            ("srv/in/a", false), ("", false), ("/", false),
        ])
    func names(_ path: String, _ isAllowed: Bool) {
        #expect(FileLocation(path, below: ["/opt/x", "/srv/in"]).isAllowed == isAllowed)
        #expect(!FileLocation(path, below: []).isAllowed)
        #expect(FileLocation(path).isAllowed)
    }

    @Test("A slash beside a combining or a prepended scalar is a slash, like in the kernel")
    func scalars() throws {
        let place = try Place()
        try place.link("allowed/x\u{600}", to: place.outside)
        #expect(place.location("x\u{600}/f").open(O_RDONLY) == -1)
        #expect(place.paths("x\u{600}/f").obstacle() != nil && place.paths("x\u{600}/g").obstacle() != nil)
        #expect(!FileLocation("\(place.allowed)/../\u{301}f", below: [place.allowed]).isAllowed)
        #expect(throws: FileError.self) { try place.paths("x\u{600}/new/f").createDirectories() }
        #expect(try place.names("outside") == ["f"])
    }

    @Test("A path that is not allowed is not opened, even if there is such a file")
    func notAllowed() throws {
        let place = try Place()
        for path in ["\(place.outside)/f", "\(place.allowed)/../outside/f", "\(place.allowed)/sub/../../outside/f"] {
            let file = FileLocation(path, below: [place.allowed])
            #expect(throws: FileError(operation: "stat", path: path, code: ENOENT)) { try FileIdentity.of(file) }
            #expect(throws: FileError(operation: "open", path: path, code: ENOENT)) { try file.openForReading() }
            let paths = DownloadPaths(destination: path, below: [place.allowed])
            #expect(throws: FileError(operation: "open", path: paths.temporary.path, code: ENOENT)) {
                try DownloadFile.open(paths)
            }
        }
        #expect(try place.names("outside") == ["f"])
    }

    @Test("A link in the middle is not followed, whatever is done with the file")
    func linkInTheMiddle() throws {
        let place = try Place()
        try place.link("allowed/link", to: place.outside)
        let path = "\(place.allowed)/link/f"
        #expect(throws: FileError(operation: "stat", path: path, code: ELOOP)) {
            try FileIdentity.of(place.location("link/f"))
        }
        #expect(throws: FileError(operation: "open", path: path, code: ELOOP)) {
            try place.location("link/f").openForReading()
        }
        let paths = place.paths("link/f")
        #expect(paths.obstacle() == "\(place.allowed)/link is not a directory")
        #expect(
            place.paths("link/deep/f").obstacle()
                == "the directory \(place.allowed)/link/deep cannot be read: \(SystemError.message(ELOOP))")
        #expect(throws: FileError(operation: "open", path: paths.temporary.path, code: ELOOP)) {
            try DownloadFile.open(paths)
        }
        let point = ResumePoint(offset: 1, validator: nil)
        #expect(throws: FileError(operation: "open", path: "\(paths.record).new", code: ELOOP)) {
            try paths.writeRecord(url: "u", point)
        }
        #expect(throws: FileError(operation: "unlink", path: paths.record.path, code: ELOOP)) {
            try paths.removeRecord()
        }
        #expect(throws: FileError(operation: "mkdir", path: "\(place.allowed)/link/deep", code: ELOOP)) {
            try place.paths("link/deep/f").createDirectories()
        }
        #expect(try place.names("outside") == ["f"])
    }

    @Test("A link in the place of the file is neither read nor written through")
    func linkAtTheEnd() throws {
        let place = try Place()
        try place.link("allowed/f", to: "\(place.outside)/f")
        let file = place.location("f")
        #expect(throws: FileError(operation: "is not a regular file", path: file.path, code: 0)) {
            try FileIdentity.of(file)
        }
        #expect(throws: FileError(operation: "open", path: file.path, code: ELOOP)) { try file.openForReading() }
        #expect(place.paths("f").obstacle() == "\(file.path) is not a regular file")
        // A link that appears later is replaced; what it points to stays.
        try DownloadFile.open(place.paths("f")).commit()
        #expect(place.text("outside/f") == "secret")
        #expect(place.text("allowed/f") == "")
    }

    @Test("A hard link is not read: it may be to a file of the rest of the file system")
    func hardLink() throws {
        let place = try Place()
        try FileManager.default.linkItem(atPath: "\(place.outside)/f", toPath: "\(place.allowed)/f")
        let file = place.location("f")
        #expect(throws: FileError(operation: "has 2 hard links", path: file.path, code: 0)) {
            try file.openForReading()
        }
        close(try FileLocation(file.path).openForReading())
    }

    @Test("A directory that becomes a link while a download runs ends it, and nothing is written elsewhere")
    func swapDuringDownload() throws {
        let place = try Place()
        let paths = place.paths("sub/f")
        let file = try DownloadFile.open(paths)
        try Array("new".utf8).withUnsafeBytes { try file.write($0, at: 0) }
        try place.swapForLink()
        // Also if a file of that name waits there.
        try place.write("trap", to: "outside/.f.tidegate")
        #expect(throws: FileError(operation: "rename", path: paths.destination.path, code: ELOOP)) { try file.commit() }
        #expect(throws: FileError.self) { try file.discard() }
        #expect(throws: FileError(operation: "open", path: paths.temporary.path, code: ELOOP)) {
            try DownloadFile.open(paths, keeping: 3)
        }
        #expect(try place.names("outside") == [".f.tidegate", "f"])
        #expect(place.text("outside/f") == "secret" && place.text("outside/.f.tidegate") == "trap")
    }

    @Test("A body whose directory became a link is not sent")
    func swapBeforeUpload() throws {
        let server = try LiveServer { _ in .respond() }
        defer { server.stop() }
        let place = try Place()
        try place.write("public", to: "allowed/sub/f")
        let recorder = try AttemptRecorder()
        var request = try AttemptRequest(1, server.url())
        request.method = "PUT"
        request.body = .file(place.location("sub/f"), length: 6)
        #expect(try recorder.run(request).failure == nil)
        try place.swapForLink()
        request.id = AttemptID(2)
        let outcome = try recorder.run(request)
        #expect(outcome.failure == .fileError && !outcome.reachedWire)
        #expect(server.requests.map { String(decoding: $0.body, as: UTF8.self) } == ["public"])
    }

    @Test("The directory itself may be a link, and everything works below it")
    func linkedRoot() throws {
        let place = try Place()
        try place.link("way", to: place.allowed)
        let root = "\(place.root)/way"
        let paths = DownloadPaths(destination: "\(root)/sub/f", below: [root])
        #expect(paths.obstacle() == nil)
        let file = try DownloadFile.open(paths, permissions: 0o640)
        try Array("new".utf8).withUnsafeBytes { try file.write($0, at: 0) }
        try paths.writeRecord(url: "u", ResumePoint(offset: 3, validator: nil))
        #expect(try paths.readRecord()?.point.offset == 3)
        try file.commit()
        #expect(place.text("allowed/sub/f") == "new")
        #expect(try place.names("allowed/sub") == ["f"])
        #expect(try FileIdentity.of(FileLocation("\(root)/sub/f", below: [root])).size == 3)
        let top = DownloadPaths(destination: "\(root)/g", below: [root])
        #expect(top.obstacle() == nil)
        try DownloadFile.open(top).commit()
        #expect(try place.names("allowed") == ["g", "sub"])
    }

    @Test("Of nested directories the outer one counts, so that the inner one cannot be made a link")
    func nested() throws {
        let place = try Place()
        try place.swapForLink()
        let directories = ["\(place.allowed)/sub", place.allowed]
        let file = FileLocation("\(place.allowed)/sub/f", below: directories)
        #expect(file.isAllowed)
        #expect(throws: FileError(operation: "open", path: file.path, code: ELOOP)) { try file.openForReading() }
    }
}
