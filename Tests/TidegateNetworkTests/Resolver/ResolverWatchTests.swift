import Synchronization
import Testing
import TidegateCore
@testable import TidegateNetwork
import TidegateTestKit

/// Changes of resolv.conf, made in every way.
@Suite struct ResolverWatchTests {
    /// A watch on a directory, with the settings that it reported.
    private final class Fixture: Sendable {
        let folder: TemporaryDirectory
        private let files: ResolverFiles
        private let watch: ResolverWatch
        private let reported: Reported

        private final class Reported: Sendable { let settings = Mutex<[ResolverSettings]>([]) }

        init(_ prepare: (TemporaryDirectory) throws -> Void = { _ in }) throws {
            let (folder, reported) = (try TemporaryDirectory(), Reported())
            try prepare(folder)
            var files = ResolverFiles()
            files.configuration = folder.path("etc/resolv.conf")
            files.upstreams = folder.path("run/resolve/resolv.conf")
            files.hosts = folder.path("etc/hosts")
            self.folder = folder
            self.reported = reported
            self.files = files
            self.watch = try ResolverWatch(files) { settings in reported.settings.withLock { $0.append(settings) } }
        }

        deinit { self.watch.stop() }

        /// What the files said before anything was reported.
        var initial: ResolverSettings { self.files.read() }

        var count: Int { self.reported.settings.withLock { $0.count } }

        /// Waits until these are the final servers.
        func servers(_ servers: String...) async -> Bool {
            await eventually {
                self.reported.settings.withLock { $0.last }?.finalServers.map(\.description) == servers
            }
        }
    }

    @Test("A file that is replaced, written, removed and created again is reported each time")
    func file() async throws {
        let fixture = try Fixture {
            try $0.makeDirectory("etc")
            try $0.write("nameserver 10.0.0.1\n", to: "etc/resolv.conf")
        }
        #expect(fixture.initial.nameservers.map(\.description) == ["10.0.0.1"])
        try fixture.folder.write("nameserver 10.0.0.2\n", to: "etc/resolv.conf")
        #expect(await fixture.servers("10.0.0.2"), "replaced by a rename")
        try fixture.folder.overwrite("nameserver 10.0.0.3\n", in: "etc/resolv.conf")
        #expect(await fixture.servers("10.0.0.3"), "written")
        try fixture.folder.remove("etc/resolv.conf")
        #expect(await fixture.servers("127.0.0.1"), "removed")
        try fixture.folder.write("nameserver 10.0.0.4\n", to: "etc/resolv.conf")
        #expect(await fixture.servers("10.0.0.4"), "created again")
    }

    @Test("Rewriting a file with the same settings reports nothing, nor does another file")
    func sameAgain() async throws {
        let fixture = try Fixture {
            try $0.makeDirectory("etc")
            try $0.write("nameserver 10.0.0.1\n", to: "etc/resolv.conf")
        }
        for number in 0..<50 {
            try fixture.folder.write("# \(number)\nnameserver 10.0.0.1\n", to: "etc/resolv.conf")
            try fixture.folder.write("nameserver 6.6.6.6\n", to: "etc/other\(number)")
        }
        try fixture.folder.write("nameserver 10.0.0.2\n", to: "etc/resolv.conf")
        #expect(await fixture.servers("10.0.0.2"))
        #expect(fixture.count == 1)
    }

    @Test("The servers behind the stub are watched, also when their directory is created, removed and created again")
    func upstreams() async throws {
        let fixture = try Fixture {
            try $0.makeDirectory("etc")
            try $0.write("nameserver 127.0.0.53\n", to: "etc/resolv.conf")
        }
        for round in 1...3 {
            try fixture.folder.makeDirectory("run/resolve")
            try fixture.folder.write("nameserver 10.0.1.\(round)\n", to: "run/resolve/resolv.conf")
            #expect(await fixture.servers("10.0.1.\(round)"))
            try fixture.folder.write("nameserver 10.0.2.\(round)\n", to: "run/resolve/resolv.conf")
            #expect(await fixture.servers("10.0.2.\(round)"))
            try fixture.folder.remove("run")
            #expect(await fixture.servers("127.0.0.53"))
        }
    }

    @Test("A change of the hosts file is reported, also if the file is mounted there")
    func hosts() async throws {
        let fixture = try Fixture {
            try $0.makeDirectory("etc")
            try $0.write("nameserver 10.0.0.1\n", to: "etc/resolv.conf")
            // As seen through a mount: the watched directory does not have the file that changes.
            try $0.makeDirectory("elsewhere")
            try $0.write("127.0.0.1 localhost\n", to: "elsewhere/hosts")
            try $0.hardLink("etc/hosts", to: "elsewhere/hosts")
        }
        // Emptying and writing a file are two changes, and may be seen as such.
        try fixture.folder.overwrite("10.0.0.9 api.test\n", in: "elsewhere/hosts")
        #expect(await eventually { fixture.count >= 1 })
        let before = fixture.count
        try fixture.folder.write("10.0.0.8 api.test\n", to: "etc/hosts")
        #expect(await eventually { fixture.count > before })
    }

    @Test("A symbolic link is followed to its target, and to another one once it is replaced")
    func links() async throws {
        let fixture = try Fixture {
            try $0.makeDirectory("etc")
            try $0.makeDirectory("one")
            try $0.makeDirectory("two")
            try $0.write("nameserver 10.0.0.1\n", to: "one/stub.conf")
            try $0.write("nameserver 10.0.0.2\n", to: "two/stub.conf")
            try $0.link("etc/resolv.conf", to: "../one/stub.conf")
        }
        #expect(fixture.initial.nameservers.map(\.description) == ["10.0.0.1"])
        try fixture.folder.write("nameserver 10.0.0.3\n", to: "one/stub.conf")
        #expect(await fixture.servers("10.0.0.3"), "the target")
        try fixture.folder.remove("etc/resolv.conf")
        try fixture.folder.link("etc/resolv.conf", to: "../two/stub.conf")
        #expect(await fixture.servers("10.0.0.2"), "replaced")
        try fixture.folder.write("nameserver 10.0.0.4\n", to: "two/stub.conf")
        #expect(await fixture.servers("10.0.0.4"), "the other target")
    }

    @Test("A cycle of symbolic links counts as an empty file")
    func circle() async throws {
        let fixture = try Fixture {
            try $0.makeDirectory("etc")
            try $0.link("etc/resolv.conf", to: "resolv.conf")
        }
        #expect(fixture.initial == ResolverSettings(parsing: ""))
        try fixture.folder.remove("etc/resolv.conf")
        try fixture.folder.write("nameserver 10.0.0.4\n", to: "etc/resolv.conf")
        #expect(await fixture.servers("10.0.0.4"))
    }
}
