internal import TidegateCore
internal import Glibc
internal import Testing
@testable internal import TidegateTransfer

@Suite("Download files in a hostile folder")
struct DownloadFileDefenceTests {
    private let folder: Folder
    private let paths: DownloadPaths

    init() throws {
        self.folder = try Folder()
        self.paths = DownloadPaths(destination: self.folder.path("f"))
    }

    private func mode(of name: String) -> mode_t {
        var status = stat()
        return stat(self.folder.path(name), &status) == 0 ? status.st_mode & 0o7777 : 0
    }

    @Test("A record does not outlive the bytes that it speaks of")
    func staleRecord() throws {
        self.folder.write(".f.tidegate", Array("0123456789".utf8))
        let point = ResumePoint(offset: 10, validator: .etag("\"x\""))
        try self.paths.writeRecord(url: "u", point)
        #expect(try DownloadFile.open(self.paths, keeping: 10).size() == 10)
        #expect(try self.paths.readRecord()?.point == point)
        #expect(try DownloadFile.open(self.paths).size() == 0)
        #expect(try self.paths.readRecord() == nil)
    }

    @Test("A body that begins anew takes the old one's record with it")
    func staleRecordOfRestart() throws {
        self.folder.write(".f.tidegate", Array("0123456789".utf8))
        try self.paths.writeRecord(url: "u", ResumePoint(offset: 10, validator: .etag("\"x\"")))
        let file = try DownloadFile.open(self.paths, keeping: 10)
        try file.truncate(to: 4)
        #expect(try self.paths.readRecord() != nil)
        try file.truncate(to: 0)
        #expect(try self.paths.readRecord() == nil)
    }

    @Test("A download that finds another one at work leaves its record alone")
    func othersRecord() throws {
        let other = try DownloadFile.open(self.paths)
        let point = ResumePoint(offset: 10, validator: .etag("\"x\""))
        try self.paths.writeRecord(url: "u", point)
        #expect(throws: FileError.self) { try DownloadFile.open(self.paths) }
        #expect(try self.paths.readRecord()?.point == point)
        try other.discard()
    }

    @Test("A symbolic link in the temporary file's place is refused, and its target is unchanged")
    func link() throws {
        self.folder.write("precious", Array("precious".utf8))
        #expect(symlink(self.folder.path("precious"), self.paths.temporary.path) == 0)
        let error = #expect(throws: FileError.self) { try DownloadFile.open(self.paths) }
        #expect(error?.code == ELOOP)
        #expect(self.folder.bytes("precious") == Array("precious".utf8))
    }

    @Test("A pipe in the temporary file's place is refused")
    func pipe() throws {
        #expect(mkfifo(self.paths.temporary.path, 0o600) == 0)
        #expect(throws: FileError.self) { try DownloadFile.open(self.paths) }
    }

    @Test("A file with another name is not written to, and a record with one is not believed")
    func hardLinks() throws {
        self.folder.write("precious", Array("precious".utf8))
        #expect(Glibc.link(self.folder.path("precious"), self.paths.temporary.path) == 0)
        let error = #expect(throws: FileError.self) { try DownloadFile.open(self.paths) }
        #expect(error?.description == "\(self.paths.temporary.path) has 2 hard links; remove it to start anew")
        #expect(self.folder.bytes("precious") == Array("precious".utf8))
        try self.paths.writeRecord(url: "u", ResumePoint(offset: 1, validator: nil))
        #expect(Glibc.link(self.paths.record.path, self.folder.path("copy")) == 0)
        #expect(throws: FileError.self) { try self.paths.readRecord() }
    }

    @Test("Another user's file is not believed", .enabled(if: geteuid() == 0, "giving files away needs root"))
    func foreign() throws {
        self.folder.write(".f.tidegate", Array("evil".utf8))
        #expect(chown(self.paths.temporary.path, 65_534, 65_534) == 0)
        let error = #expect(throws: FileError.self) { try DownloadFile.open(self.paths, keeping: 4) }
        #expect(
            error?.description
                == "\(self.paths.temporary.path) belongs to another user (uid 65534); remove it to start anew")
        try self.paths.writeRecord(url: "u", ResumePoint(offset: 1, validator: nil))
        #expect(chown(self.paths.record.path, 65_534, 65_534) == 0)
        #expect(throws: FileError.self) { try self.paths.readRecord() }
    }

    @Test("A pipe or a link in the record's place is refused at once")
    func recordPipe() throws {
        #expect(mkfifo(self.paths.record.path, 0o600) == 0)
        let error = #expect(throws: FileError.self) { try self.paths.readRecord() }
        #expect(error?.description == "\(self.paths.record.path) is not a regular file; remove it to start anew")
        self.folder.write("elsewhere", Array("{}".utf8))
        #expect(
            unlink(self.paths.record.path) == 0 && symlink(self.folder.path("elsewhere"), self.paths.record.path) == 0)
        #expect(throws: FileError.self) { try self.paths.readRecord() }
    }

    @Test("A record is not written through a symbolic link")
    func recordLink() throws {
        self.folder.write("precious", Array("precious".utf8))
        #expect(symlink(self.folder.path("precious"), "\(self.paths.record.path).new") == 0)
        try self.paths.writeRecord(url: "u", ResumePoint(offset: 1, validator: nil))
        #expect(self.folder.bytes("precious") == Array("precious".utf8))
        #expect(try self.paths.readRecord()?.point.offset == 1)
    }

    @Test("Bytes on their way are as private as the file will be", arguments: [0o600, 0o640, 0o400] as [UInt16])
    func permissions(bits: UInt16) throws {
        #expect(try DownloadFile.open(self.paths, permissions: bits).size() == 0)
        #expect(self.mode(of: ".f.tidegate") == mode_t(bits | 0o600))
        #expect(chmod(self.paths.temporary.path, 0o666) == 0)
        let file = try DownloadFile.open(self.paths, keeping: 5, permissions: bits)
        #expect(self.mode(of: ".f.tidegate") == mode_t(bits | 0o600))
        try file.commit(permissions: bits)
        #expect(self.mode(of: "f") == mode_t(bits))
    }

    @Test("A record, which holds the URL with its query, is for its owner only")
    func privateRecord() throws {
        try self.paths.writeRecord(url: "http://h/?token=SECRET", ResumePoint(offset: 1, validator: nil))
        #expect(self.mode(of: ".f.tidegate.json") == 0o600)
    }

    @Test("A file system that does not count its blocks is not full; one that has none left is")
    func room() {
        var status = statvfs()
        #expect(statvfs("/proc", &status) == 0 && status.f_blocks == 0)
        #expect(DownloadFile.room(status) == .max)
        (status.f_blocks, status.f_frsize) = (1000, 4096)
        #expect(DownloadFile.room(status) == 0)
        (status.f_bfree, status.f_bavail) = (2, 2)
        #expect(DownloadFile.room(status) == 8192)
    }

    // Has fdatasync(2) fail once, as after a failed write-back: the descriptor is /dev/null meanwhile.
    private func failSynchronizing(_ file: DownloadFile) throws {
        let numbers = (0..<Int32(1024)).filter { number in
            var (mine, there) = (stat(), stat())
            return fstat(number, &mine) == 0 && lstat(self.paths.temporary.path, &there) == 0
                && mine.st_dev == there.st_dev && mine.st_ino == there.st_ino
        }
        let number = try #require(numbers.first)
        let (kept, null) = (fcntl(number, F_DUPFD_CLOEXEC, 0), open("/dev/null", O_RDWR | O_CLOEXEC))
        #expect(kept >= 0 && dup2(null, number) == number)
        let error = #expect(throws: FileError.self) { try file.synchronize() }
        #expect(error?.operation == "fdatasync" && error?.code == EINVAL)
        #expect(dup2(kept, number) == number)
        close(kept)
        close(null)
    }

    @Test("Bytes that the disk lost while they came are not published, until all have come again")
    func lostBytes() throws {
        self.folder.write(".f.tidegate", Array("0123456789".utf8))
        let file = try DownloadFile.open(self.paths, keeping: 10)
        try self.failSynchronizing(file)
        #expect(throws: FileError.self) { try file.synchronize() }
        for _ in 0..<2 {
            let error = #expect(throws: FileError.self) { try file.commit() }
            #expect(error == FileError(operation: "fsync", path: self.paths.temporary.path, code: EINVAL))
        }
        try file.truncate(to: 4)
        #expect(throws: FileError.self) { try file.commit() }
        #expect(self.folder.names == [".f.tidegate"])
        try file.truncate(to: 0)
        try file.synchronize()
        try file.commit()
        #expect(self.folder.names == ["f"])
    }

    // A file that was moved, and whose record could not be removed.
    private func halfCommitted() throws -> DownloadFile {
        self.folder.write(".f.tidegate", Array("whole".utf8))
        let file = try DownloadFile.open(self.paths, keeping: 5)
        #expect(mkdir(self.paths.record.path, 0o700) == 0)
        let error = #expect(throws: FileError.self) { try file.commit() }
        #expect(error?.path == self.paths.record.path)
        #expect(rmdir(self.paths.record.path) == 0)
        return file
    }

    @Test("A download that was moved leaves the next one's file and record alone, committed again or discarded")
    func movedBefore() throws {
        let file = try self.halfCommitted()
        self.folder.write(".f.tidegate", Array("next".utf8))
        let next = try DownloadFile.open(self.paths, keeping: 4)
        try self.paths.writeRecord(url: "u", ResumePoint(offset: 4, validator: .etag("\"x\"")))
        for _ in 0..<2 {
            try file.commit()
            try file.discard()
        }
        #expect(self.folder.bytes("f") == Array("whole".utf8))
        #expect(self.folder.bytes(".f.tidegate") == Array("next".utf8))
        #expect(try self.paths.readRecord()?.point.offset == 4)
        try next.commit()
        try file.commit()
        #expect(self.folder.names == ["f"] && self.folder.bytes("f") == Array("next".utf8))
    }

    @Test("A file in the place of the temporary one is neither moved nor removed")
    func replaced() throws {
        let file = try DownloadFile.open(self.paths)
        #expect(unlink(self.paths.temporary.path) == 0)
        #expect(throws: FileError(operation: "rename", path: self.paths.destination.path, code: ENOENT)) {
            try file.commit()
        }
        self.folder.write(".f.tidegate", Array("other".utf8))
        #expect(throws: FileError(operation: "rename", path: self.paths.temporary.path, code: ESTALE)) {
            try file.commit()
        }
        try file.discard()
        #expect(self.folder.names == [".f.tidegate"] && self.folder.bytes(".f.tidegate") == Array("other".utf8))
    }

    @Test("A file that another download has moved to its place meanwhile is not taken for the temporary file")
    func finishedMeanwhile() throws {
        var other: DownloadFile? = try DownloadFile.open(self.paths)
        self.folder.write(".f.tidegate", Array("whole".utf8))
        let late = try DownloadFile.opened(self.paths, nil)
        try other?.commit()
        other = nil
        #expect(try !late.lock())
        #expect(try DownloadFile.open(self.paths).size() == 0)
        #expect(self.folder.bytes("f") == Array("whole".utf8))
    }
}
