internal import TidegateCore
internal import Glibc
internal import Testing
internal import TidegateTransfer

@Suite("Places where a download cannot end")
struct DestinationCheckTests {
    private let folder: Folder

    init() throws { self.folder = try Folder() }

    private func obstacle(_ name: String) -> String? { DownloadPaths(destination: self.folder.path(name)).obstacle() }

    private func way(_ name: String) throws -> DownloadPaths.Way {
        try DownloadPaths(destination: self.folder.path(name)).checked().way
    }

    @Test("A new file, an old one, and a link to a file are good")
    func good() {
        self.folder.write("old", [1])
        #expect(symlink("old", self.folder.path("link")) == 0)
        for name in ["new", "old", "link"] { #expect(self.obstacle(name) == nil) }
    }

    @Test("A device or a pipe is opened and written, and refused where only files are accepted")
    func special() throws {
        #expect(mkfifo(self.folder.path("pipe"), 0o600) == 0)
        #expect(try self.way("pipe") == .stream)
        #expect(
            DownloadPaths(destination: self.folder.path("pipe")).obstacle(onlyFiles: true)
                == "\(self.folder.path("pipe")) is not a regular file")
        #expect(try DownloadPaths(destination: "/dev/null").checked().way == .stream)
        #expect(DownloadPaths(destination: "/dev/null").obstacle(onlyFiles: true) == "/dev/null is not a regular file")
        #expect(
            DownloadPaths(destination: "/proc/self/fd/1").obstacle(onlyFiles: true)
                == "/proc/self/fd/1 is not a regular file")
        #expect(DownloadPaths(destination: "/tmp").obstacle() == "/tmp is a directory")
    }

    @Test("A socket is refused")
    func socket() {
        let descriptor = Glibc.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: self.folder.path("socket").utf8) }
        let result = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        #expect(result == 0)
        #expect(self.obstacle("socket") == "\(self.folder.path("socket")) is a socket")
    }

    @Test("Links are followed to their end, which need not exist; files are made beside the end")
    func links() throws {
        #expect(mkdir(self.folder.path("sub"), 0o755) == 0)
        #expect(symlink("sub/second", self.folder.path("first")) == 0)
        #expect(symlink(self.folder.path("end"), self.folder.path("sub/second")) == 0)
        let paths = try DownloadPaths(destination: self.folder.path("first")).checked()
        #expect(paths.destination.path == self.folder.path("end") && paths.way == .replaced)
        #expect(paths.temporary.path == self.folder.path(".end.tidegate"))
        #expect(symlink("loop", self.folder.path("loop")) == 0)
        #expect(
            self.obstacle("loop") == "\(self.folder.path("loop")) is a symbolic link that leads back to itself")
        #expect(unlink(self.folder.path("sub/second")) == 0)
    }

    @Test(
        "Root follows no link in a directory that others can write",
        .enabled(if: geteuid() == 0, "it is a rule for root"),
        arguments: [(0o1777, 0), (0o775, 0), (0o755, 65_534)] as [(mode_t, uid_t)])
    func rootsLinks(mode: mode_t, owner: uid_t) throws {
        #expect(symlink("end", self.folder.path("link")) == 0)
        #expect(self.obstacle("link") == nil)
        #expect(chmod(self.folder.path("."), mode) == 0 && chown(self.folder.path("."), owner, 0) == 0)
        let problem =
            "is a symbolic link in a directory that others can write, and root does not follow it; "
            + "name the file to which it leads"
        #expect(self.obstacle("link") == "\(self.folder.path("link")) \(problem)")
        #expect(self.obstacle("end") == nil)
    }

    @Test("A link is refused in a confined directory")
    func confined() throws {
        #expect(symlink("end", self.folder.path("link")) == 0)
        let paths = DownloadPaths(
            destination: self.folder.path("link"), below: [String(self.folder.path("").dropLast())])
        let error = #expect(throws: FileError.self) { try paths.checked() }
        #expect(error?.description == "\(self.folder.path("link")) is not a regular file")
    }

    @Test("A path of an open descriptor is that descriptor, whatever is behind it")
    func descriptors() throws {
        self.folder.write("file", [1])
        let descriptor = open(self.folder.path("file"), O_WRONLY | O_CLOEXEC)
        defer { close(descriptor) }
        #expect(symlink("/proc/self/fd/\(descriptor)", self.folder.path("link")) == 0)
        for path in ["/dev/fd/\(descriptor)", "/proc/self/fd/\(descriptor)", self.folder.path("link")] {
            let paths = try DownloadPaths(destination: path).checked()
            #expect(paths.way == .stream && paths.destination.ownDescriptor == descriptor)
        }
        #expect(try DownloadPaths(destination: self.folder.path("file")).checked().destination.ownDescriptor == nil)
    }

    @Test(
        "A name of up to 255 bytes is fine for a new file and an old one, and its part is found again",
        arguments: [124, 125, 236, 237, 255])
    func longNameOfFile(count: Int) throws {
        for name in [String(repeating: "n", count: count), String(repeating: "ä", count: count / 2)] {
            let point = ResumePoint(offset: 1, validator: nil)
            for _ in 0..<2 {
                let paths = try DownloadPaths(destination: self.folder.path(name)).checked()
                #expect(paths.way == .replaced)
                let file = try DownloadFile.open(paths)
                try paths.writeRecord(url: "u", point)
                let again = DownloadPaths(destination: self.folder.path(name))
                #expect(try again.readRecord()?.point == point && again.temporary == paths.temporary)
                try file.commit()
                #expect(self.folder.names == [name])
            }
            #expect(unlink(self.folder.path(name)) == 0)
        }
    }

    @Test("Long names with the same start have parts of their own")
    func similarNames() {
        let start = String(repeating: "n", count: 250)
        let (one, other) = (DownloadPaths(destination: "\(start)1"), DownloadPaths(destination: "\(start)2"))
        #expect(one.temporary != other.temporary && one.record != other.record)
    }

    @Test(
        "A name keeps its bytes in any encoding, through its text and a link, also below a confined directory",
        arguments: [
            [0x63, 0xE9], [0xFF], [0x61, 0xC3], [0xC3, 0xA9, 0x80], [0xF4, 0x8F, 0xBF, 0xA9], [0xED, 0xA0, 0x80, 0x41],
        ] as [[UInt8]], [true, false])
    func bytes(name: [UInt8], isConfined: Bool) throws {
        let directory = String(self.folder.path("").dropLast())
        let path = FileLocation.text(of: Array("\(directory)/".utf8) + name)
        #expect(FileLocation.text(of: Array("/ä/b".utf8)) == "/ä/b")
        let paths = try DownloadPaths(destination: path, below: isConfined ? [directory] : nil).checked()
        try DownloadFile.open(paths).commit()
        let bytes = (Array("\(directory)/".utf8) + name).map { CChar(bitPattern: $0) } + [0]
        #expect(access(bytes, F_OK) == 0)
        #expect(symlink(name.map { CChar(bitPattern: $0) } + [0], self.folder.path("link")) == 0)
        #expect(try DownloadPaths(destination: self.folder.path("link")).checked().destination.path == path)
        #expect(unlink(bytes) == 0)
    }

    @Test("What is not a regular file cannot be sent, and is called what it is", arguments: ["/dev/zero", "/tmp", nil])
    func special(given: String?) throws {
        let path = given ?? self.folder.path("pipe")
        if given == nil { #expect(mkfifo(path, 0o600) == 0) }
        let error = #expect(throws: FileError.self) { try FileIdentity.of(FileLocation(path)) }
        let text = path == "/tmp" ? "is a directory" : "is not a regular file"
        #expect(error?.description == "\(path) \(text)")
    }

    @Test("A name that is too long for the file system is refused")
    func longName() {
        let path = self.folder.path(String(repeating: "n", count: 257))
        #expect(
            DownloadPaths(destination: path).obstacle()
                == "the name of \(path) is 2 bytes too long for its file system")
    }
}

extension DownloadPaths {
    /// Why the destination cannot be written; nil if it can.
    func obstacle(onlyFiles: Bool = false) -> String? {
        do throws(FileError) {
            _ = try self.checked(onlyFiles: onlyFiles)
            return nil
        } catch {
            return error.description
        }
    }
}
