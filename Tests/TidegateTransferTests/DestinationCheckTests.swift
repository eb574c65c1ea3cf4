internal import TidegateCore
internal import Glibc
internal import Testing
internal import TidegateTransfer

@Suite("Places where a download cannot end")
struct DestinationCheckTests {
    private let folder: Folder

    init() throws { self.folder = try Folder() }

    private func obstacle(_ name: String) -> String? { DownloadPaths(destination: self.folder.path(name)).obstacle() }

    @Test("A new file, an old one, and a link to a file are good")
    func good() {
        self.folder.write("old", [1])
        #expect(symlink("old", self.folder.path("link")) == 0)
        for name in ["new", "old", "link"] { #expect(self.obstacle(name) == nil) }
    }

    @Test("A device or a pipe is not replaced by a file")
    func special() {
        #expect(mkfifo(self.folder.path("pipe"), 0o600) == 0)
        #expect(self.obstacle("pipe") == "\(self.folder.path("pipe")) is not a regular file")
        #expect(DownloadPaths(destination: "/dev/null").obstacle() == "/dev/null is not a regular file")
        #expect(DownloadPaths(destination: "/tmp").obstacle() == "/tmp is a directory")
    }

    @Test("What is not a regular file cannot be sent, and is called what it is", arguments: ["/dev/zero", "/tmp", nil])
    func special(given: String?) throws {
        let path = given ?? self.folder.path("pipe")
        if given == nil { #expect(mkfifo(path, 0o600) == 0) }
        let error = #expect(throws: FileError.self) { try FileIdentity.of(FileLocation(path)) }
        let text = path == "/tmp" ? "is a directory" : "is not a regular file"
        #expect(error?.description == "\(path) \(text)")
    }

    @Test("A name is refused if the files beside it could not be named")
    func longName() throws {
        let longest = String(repeating: "n", count: 236)
        #expect(self.obstacle(longest) == nil)
        let paths = DownloadPaths(destination: self.folder.path(longest))
        let file = try DownloadFile.open(paths)
        try paths.writeRecord(url: "u", ResumePoint(offset: 1, validator: nil))
        try file.commit()
        #expect(self.folder.names == [longest])
        let path = self.folder.path("\(longest)nn")
        #expect(
            DownloadPaths(destination: path).obstacle() == "the name of \(path) is 2 bytes too long for a download")
    }
}
