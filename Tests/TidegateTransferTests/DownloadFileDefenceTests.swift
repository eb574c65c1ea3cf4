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

    @Test("A symbolic link in the temporary file's place is refused, and its target stays as it is")
    func link() throws {
        self.folder.write("precious", Array("precious".utf8))
        #expect(symlink(self.folder.path("precious"), self.paths.temporary) == 0)
        let error = #expect(throws: FileError.self) { try DownloadFile.open(self.paths) }
        #expect(error?.code == ELOOP)
        #expect(self.folder.bytes("precious") == Array("precious".utf8))
    }

    @Test("A pipe in the temporary file's place is refused")
    func pipe() throws {
        #expect(mkfifo(self.paths.temporary, 0o600) == 0)
        #expect(throws: FileError.self) { try DownloadFile.open(self.paths) }
    }

    @Test("A file with another name is not written to, and a record with one is not believed")
    func hardLinks() throws {
        self.folder.write("precious", Array("precious".utf8))
        #expect(Glibc.link(self.folder.path("precious"), self.paths.temporary) == 0)
        let error = #expect(throws: FileError.self) { try DownloadFile.open(self.paths) }
        #expect(error?.description == "\(self.paths.temporary) has 2 hard links; remove it to start anew")
        #expect(self.folder.bytes("precious") == Array("precious".utf8))
        try self.paths.writeRecord(url: "u", ResumePoint(offset: 1, validator: nil))
        #expect(Glibc.link(self.paths.record, self.folder.path("copy")) == 0)
        #expect(throws: FileError.self) { try self.paths.readRecord() }
    }

    @Test("Another user's file is not believed", .enabled(if: geteuid() == 0, "giving files away needs root"))
    func foreign() throws {
        self.folder.write(".f.tidegate", Array("evil".utf8))
        #expect(chown(self.paths.temporary, 65_534, 65_534) == 0)
        let error = #expect(throws: FileError.self) { try DownloadFile.open(self.paths, keeping: 4) }
        #expect(
            error?.description
                == "\(self.paths.temporary) belongs to another user (uid 65534); remove it to start anew")
        try self.paths.writeRecord(url: "u", ResumePoint(offset: 1, validator: nil))
        #expect(chown(self.paths.record, 65_534, 65_534) == 0)
        #expect(throws: FileError.self) { try self.paths.readRecord() }
    }

    @Test("A pipe or a link in the record's place is refused at once")
    func recordPipe() throws {
        #expect(mkfifo(self.paths.record, 0o600) == 0)
        let error = #expect(throws: FileError.self) { try self.paths.readRecord() }
        #expect(error?.description == "\(self.paths.record) is not a regular file; remove it to start anew")
        self.folder.write("elsewhere", Array("{}".utf8))
        #expect(unlink(self.paths.record) == 0 && symlink(self.folder.path("elsewhere"), self.paths.record) == 0)
        #expect(throws: FileError.self) { try self.paths.readRecord() }
    }

    @Test("A record is not written through a symbolic link")
    func recordLink() throws {
        self.folder.write("precious", Array("precious".utf8))
        #expect(symlink(self.folder.path("precious"), "\(self.paths.record).new") == 0)
        try self.paths.writeRecord(url: "u", ResumePoint(offset: 1, validator: nil))
        #expect(self.folder.bytes("precious") == Array("precious".utf8))
        #expect(try self.paths.readRecord()?.point.offset == 1)
    }

    @Test("Bytes on their way are as private as the file will be", arguments: [0o600, 0o640, 0o400] as [UInt16])
    func permissions(bits: UInt16) throws {
        #expect(try DownloadFile.open(self.paths, permissions: bits).size() == 0)
        #expect(self.mode(of: ".f.tidegate") == mode_t(bits | 0o600))
        #expect(chmod(self.paths.temporary, 0o666) == 0)
        let file = try DownloadFile.open(self.paths, keeping: 5, permissions: bits)
        #expect(self.mode(of: ".f.tidegate") == mode_t(bits | 0o600))
        try file.setPermissions(bits)
        try file.commit()
        #expect(self.mode(of: "f") == mode_t(bits))
    }

    @Test("A record, which holds the URL with its query, is for its owner only")
    func privateRecord() throws {
        try self.paths.writeRecord(url: "http://h/?token=SECRET", ResumePoint(offset: 1, validator: nil))
        #expect(self.mode(of: ".f.tidegate.json") == 0o600)
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
