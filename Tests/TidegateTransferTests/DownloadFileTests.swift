internal import Glibc
internal import Synchronization
internal import Testing
internal import TidegateCore
internal import TidegateLoop
internal import TidegateTestKit
@testable internal import TidegateTransfer

@Suite("Download files")
struct DownloadFileTests {
    @Test(
        "The temporary file and the record stand beside the destination",
        arguments: [
            ("a", ".a.tidegate", ".a.tidegate.json"), ("/x/y.z", "/x/.y.z.tidegate", "/x/.y.z.tidegate.json"),
        ])
    func paths(destination: String, temporary: String, record: String) {
        let paths = DownloadPaths(destination: destination)
        #expect(paths.temporary.path == temporary)
        #expect(paths.record.path == record)
    }

    @Test("Opening keeps what is wanted, cuts off the rest and forgets everything else")
    func keeping() throws {
        let folder = try Folder()
        let paths = DownloadPaths(destination: folder.path("f"))
        folder.write(".f.tidegate", Array("0123456789".utf8))
        #expect(try DownloadFile.open(paths, keeping: 20).size() == 10)
        #expect(try DownloadFile.open(paths, keeping: 4).size() == 4)
        #expect(folder.bytes(".f.tidegate") == Array("0123".utf8))
        #expect(try DownloadFile.open(paths, keeping: 4).read(at: 1, upTo: 9) == Array("123".utf8))
        #expect(try DownloadFile.open(paths).size() == 0)
    }

    @Test("Write-back begins once for each part, and not for a few bytes")
    func writeBack() throws {
        let part: Int64 = 8 * 1024 * 1024
        let folder = try Folder()
        let file = try DownloadFile.open(DownloadPaths(destination: folder.path("f")))
        #expect(file.takeWriteBack(upTo: part - 1) == nil)
        #expect(file.takeWriteBack(upTo: part + 5) == 0..<part + 5)
        #expect(file.takeWriteBack(upTo: 2 * part) == nil)
        #expect(file.takeWriteBack(upTo: 3 * part) == part + 5..<3 * part)
        // A body that begins again is written again.
        try file.truncate(to: 0)
        #expect(file.takeWriteBack(upTo: part) == 0..<part)
        file.beginWriteBack(0..<part)
    }

    @Test("A file that replaces another one has its permissions, also before", arguments: [0o600, 0o640, 0o444, 0o755])
    func replacedPermissions(bits: mode_t) throws {
        let folder = try Folder()
        folder.write("f", [1])
        #expect(chmod(folder.path("f"), bits) == 0)
        let file = try DownloadFile.open(try DownloadPaths(destination: folder.path("f")).checked())
        var status = stat()
        #expect(stat(folder.path(".f.tidegate"), &status) == 0 && status.st_mode & 0o777 == bits | 0o600)
        try file.append([2])
        try file.commit()
        #expect(stat(folder.path("f"), &status) == 0 && status.st_mode & 0o7777 == bits)
        #expect(folder.bytes("f") == [2] && folder.names == ["f"])
    }

    @Test(
        "Root passes on owner and group; permissions of the request replace the file's own",
        .enabled(if: geteuid() == 0, "giving files away needs root"), arguments: [nil, 0o604] as [UInt16?])
    func replacedOwner(permissions: UInt16?) throws {
        let folder = try Folder()
        folder.write("f", [1])
        #expect(chmod(folder.path("f"), 0o640) == 0 && chown(folder.path("f"), 65_534, 4) == 0)
        let file = try DownloadFile.open(try DownloadPaths(destination: folder.path("f")).checked())
        try file.append([2])
        try file.commit(permissions: permissions)
        var status = stat()
        #expect(stat(folder.path("f"), &status) == 0 && status.st_uid == 65_534 && status.st_gid == 4)
        #expect(status.st_mode & 0o7777 == mode_t(permissions ?? 0o640))
    }

    @Test("A file in place keeps its bytes until the first new one, and is neither renamed nor removed")
    func inPlace() throws {
        let folder = try Folder()
        folder.write("f", [1, 2, 3])
        let file = try DownloadFile.open(DownloadPaths(FileLocation(folder.path("f")), .inPlace))
        #expect(folder.bytes("f") == [1, 2, 3])
        try file.discard()
        #expect(folder.bytes("f") == [1, 2, 3])
        try file.truncate(to: 0)
        try file.append([4])
        try file.commit()
        #expect(folder.bytes("f") == [4] && folder.names == ["f"])
    }

    @Test("A committed file gets the given time, whether it is new or written in place")
    func modified() throws {
        let folder = try Folder()
        folder.write("old", [1])
        let paths = [
            DownloadPaths(destination: folder.path("new")), DownloadPaths(FileLocation(folder.path("old")), .inPlace),
        ]
        for paths in paths {
            let file = try DownloadFile.open(paths)
            try file.append([2])
            try file.commit(modified: 1_546_300_800)
            #expect(try FileIdentity.of(paths.destination).modifiedSeconds == 1_546_300_800)
        }
    }

    @Test("A file that another program left is copied for one URL, unless an own part is there already")
    func adopt() throws {
        let folder = try Folder()
        folder.write("f", Array("left".utf8))
        let paths = try DownloadPaths(destination: folder.path("f")).checked()
        try paths.adoptDestination(for: "http://h/f")
        #expect(folder.bytes("f") == Array("left".utf8) && folder.bytes(".f.tidegate") == Array("left".utf8))
        let point = ResumePoint(offset: 4, validator: nil)
        #expect(try paths.readRecord() == ResumeData(url: "http://h/f", file: folder.path("f"), point: point))
        folder.write(".f.tidegate", Array("more".utf8))
        try paths.adoptDestination(for: "http://h/f")
        #expect(folder.bytes(".f.tidegate") == Array("more".utf8))
        let missing = try DownloadPaths(destination: folder.path("g")).checked()
        try missing.adoptDestination(for: "http://h/g")
        #expect(folder.names.sorted() == [".f.tidegate", ".f.tidegate.json", "f"])
    }

    @Test("A pipe without a reader is refused at once, and a descriptor that is not open for writing")
    func noReader() throws {
        let folder = try Folder()
        #expect(mkfifo(folder.path("pipe"), 0o600) == 0)
        let pipe = try DownloadPaths(destination: folder.path("pipe")).checked()
        let error = #expect(throws: FileError.self) { try DownloadFile.open(pipe) }
        #expect(
            error?.description == "\(folder.path("pipe")) is a pipe that no process reads, or a device that is absent")
        let descriptor = open("/dev/null", O_RDONLY | O_CLOEXEC)
        defer { close(descriptor) }
        let paths = try DownloadPaths(destination: "/dev/fd/\(descriptor)").checked()
        let other = #expect(throws: FileError.self) { try DownloadFile.open(paths) }
        #expect(other?.description == "/dev/fd/\(descriptor) is not open for writing")
    }

    @Test("Two downloads to one destination cannot mix")
    func lock() throws {
        let folder = try Folder()
        let paths = DownloadPaths(destination: folder.path("f"))
        let first = try DownloadFile.open(paths)
        let error = #expect(throws: FileError.self) { try DownloadFile.open(paths) }
        #expect(error?.code == EWOULDBLOCK)
        #expect(error?.path == paths.temporary.path)
        #expect(try first.size() == 0)
        // The end of a download is reported before the last reference to its file is gone.
        first.unlock()
        #expect(try DownloadFile.open(paths).size() == 0)
        withExtendedLifetime(first) {}
    }

    @Test("A folder that is not there is named with its error")
    func noFolder() {
        let paths = DownloadPaths(destination: "/nonexistent/f")
        let error = #expect(throws: FileError.self) { try DownloadFile.open(paths) }
        #expect(error?.code == ENOENT)
        #expect(error?.description == "/nonexistent/.f.tidegate: open: No such file or directory")
    }

    @Test("A record comes back as it was written, and goes with the commit")
    func record() throws {
        let folder = try Folder()
        let paths = DownloadPaths(destination: folder.path("f"))
        let url = "http://h/\u{e9}?a=\"b\""
        let point = ResumePoint(offset: 4, validator: .etag("\"x/y\""), total: 10)
        #expect(try paths.readRecord() == nil)
        let file = try DownloadFile.open(paths)
        try paths.writeRecord(url: url, point)
        #expect(try paths.readRecord() == ResumeData(url: url, file: paths.destination.path, point: point))
        try file.commit()
        #expect(folder.names == ["f"])
    }

    @Test("A record that makes no sense is none", arguments: ["", "{", "[]", "{\"url\":1}", "{\"offset\":\"x\"}"])
    func badRecord(text: String) throws {
        let folder = try Folder()
        folder.write(".f.tidegate.json", Array(text.utf8))
        #expect(try DownloadPaths(destination: folder.path("f")).readRecord() == nil)
    }

    @Test("Without a validator or bytes, or beyond the end, there is no point to continue from")
    func noPoint() {
        let (tag, date) = (ResumePoint.Validator.etag("\"x\""), ResumePoint.Validator.lastModified("Mon"))
        #expect(!ResumePoint(offset: 4, validator: nil, total: 10).isUsable())
        #expect(ResumePoint(offset: 4, validator: nil, total: 10).isUsable(isVerified: true))
        #expect(!ResumePoint(offset: 4, validator: nil, total: 3).isUsable(isVerified: true))
        #expect(!ResumePoint(offset: 0, validator: tag).isUsable())
        #expect(!ResumePoint(offset: 4, validator: tag, total: 3).isUsable())
        #expect(ResumePoint(offset: 4, validator: tag, total: 4).isUsable())
        #expect(ResumePoint(offset: 4, validator: date).isUsable())
    }

    @Test("Discarding leaves nothing behind, twice as well as once")
    func discard() throws {
        let folder = try Folder()
        let paths = DownloadPaths(destination: folder.path("f"))
        let file = try DownloadFile.open(paths)
        try paths.writeRecord(url: "u", ResumePoint(offset: 0, validator: nil))
        try file.discard()
        try file.discard()
        #expect(folder.names.isEmpty)
    }

    @Test("The disk thread works in order and answers everything before it stops")
    func diskThread() throws {
        let folder = try Folder()
        let file = try DownloadFile.open(DownloadPaths(destination: folder.path("f")))
        let disk = try DiskThread()
        let results = Results()
        disk.perform({ () throws(FileError) in try file.synchronize() }) { results.add("synchronize", $0) }
        disk.perform({ () throws(FileError) in try file.commit() }) { results.add("commit", $0) }
        disk.perform({ () throws(FileError) in try file.commit() }) { results.add("again", $0) }
        disk.stop()
        #expect(results.list == ["synchronize: 0", "commit: 0", "again: 0"])
        #expect(disk.perform({ () throws(FileError) in try file.discard() }) { results.add("late", $0) } == false)
        #expect(results.list.count == 3)
    }
}

private final class Results: Sendable {
    private let entries = Mutex<[String]>([])

    func add(_ name: String, _ result: Result<Void, FileError>) {
        let code: Int32 =
            switch result {
            case .success: 0
            case .failure(let error): error.code
            }
        self.entries.withLock { $0.append("\(name): \(code)") }
    }

    var list: [String] { self.entries.withLock { $0 } }
}
