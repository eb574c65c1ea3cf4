import Synchronization
import Testing
import TidegateCore
import TidegateNetwork
import TidegateTestKit

/// Changes of resolv.conf are heard of, however they are made.
@Suite struct ResolverWatchTests {
    /// A watch on a folder, with everything it has told.
    private final class Rig: Sendable {
        let folder: Folder
        let watch: ResolverWatch
        private let told: Told

        private final class Told: Sendable { let settings = Mutex<[ResolverSettings]>([]) }

        init(_ prepare: (Folder) throws -> Void = { _ in }) throws {
            let (folder, told) = (try Folder(), Told())
            try prepare(folder)
            let files = ResolverFiles(
                configuration: folder.path("etc/resolv.conf"), upstreams: folder.path("run/resolve/resolv.conf"))
            self.folder = folder
            self.told = told
            self.watch = try ResolverWatch(files) { settings in told.settings.withLock { $0.append(settings) } }
        }

        deinit { self.watch.stop() }

        var count: Int { self.told.settings.withLock { $0.count } }

        /// Waits until these are the servers that count.
        func servers(_ servers: String...) async -> Bool {
            await eventually(within: .seconds(3)) {
                self.told.settings.withLock { $0.last }?.finalServers.map(\.description) == servers
                    && self.watch.settings.finalServers.map(\.description) == servers
            }
        }
    }

    @Test("A file that is replaced, written to, removed and made again is heard of each time")
    func file() async throws {
        let rig = try Rig {
            try $0.makeFolder("etc")
            try $0.write("nameserver 10.0.0.1\n", to: "etc/resolv.conf")
        }
        #expect(rig.watch.settings.nameservers.map(\.description) == ["10.0.0.1"])
        try rig.folder.write("nameserver 10.0.0.2\n", to: "etc/resolv.conf")
        #expect(await rig.servers("10.0.0.2"), "replaced by a rename")
        try rig.folder.overwrite("nameserver 10.0.0.3\n", in: "etc/resolv.conf")
        #expect(await rig.servers("10.0.0.3"), "written to")
        try rig.folder.remove("etc/resolv.conf")
        #expect(await rig.servers("127.0.0.1"), "removed")
        try rig.folder.write("nameserver 10.0.0.4\n", to: "etc/resolv.conf")
        #expect(await rig.servers("10.0.0.4"), "made again")
    }

    @Test("Rewriting a file without changing what it says tells nothing, nor does another file")
    func sameAgain() async throws {
        let rig = try Rig {
            try $0.makeFolder("etc")
            try $0.write("nameserver 10.0.0.1\n", to: "etc/resolv.conf")
        }
        for number in 0..<50 {
            try rig.folder.write("# \(number)\nnameserver 10.0.0.1\n", to: "etc/resolv.conf")
            try rig.folder.write("nameserver 6.6.6.6\n", to: "etc/other\(number)")
        }
        try rig.folder.write("nameserver 10.0.0.2\n", to: "etc/resolv.conf")
        #expect(await rig.servers("10.0.0.2"))
        #expect(rig.count == 1)
    }

    @Test("The servers behind the stub are followed, also when their folder comes, goes and comes again")
    func upstreams() async throws {
        let rig = try Rig {
            try $0.makeFolder("etc")
            try $0.write("nameserver 127.0.0.53\n", to: "etc/resolv.conf")
        }
        for round in 1...3 {
            try rig.folder.makeFolder("run/resolve")
            try rig.folder.write("nameserver 10.0.1.\(round)\n", to: "run/resolve/resolv.conf")
            #expect(await rig.servers("10.0.1.\(round)"))
            try rig.folder.write("nameserver 10.0.2.\(round)\n", to: "run/resolve/resolv.conf")
            #expect(await rig.servers("10.0.2.\(round)"))
            try rig.folder.remove("run")
            #expect(await rig.servers("127.0.0.53"))
        }
    }

    @Test("A link is followed to the file behind it, and to another file once it is turned")
    func links() async throws {
        let rig = try Rig {
            try $0.makeFolder("etc")
            try $0.makeFolder("one")
            try $0.makeFolder("two")
            try $0.write("nameserver 10.0.0.1\n", to: "one/stub.conf")
            try $0.write("nameserver 10.0.0.2\n", to: "two/stub.conf")
            try $0.link("etc/resolv.conf", to: "../one/stub.conf")
        }
        #expect(rig.watch.settings.nameservers.map(\.description) == ["10.0.0.1"])
        try rig.folder.write("nameserver 10.0.0.3\n", to: "one/stub.conf")
        #expect(await rig.servers("10.0.0.3"), "the file behind it")
        try rig.folder.remove("etc/resolv.conf")
        try rig.folder.link("etc/resolv.conf", to: "../two/stub.conf")
        #expect(await rig.servers("10.0.0.2"), "turned")
        try rig.folder.write("nameserver 10.0.0.4\n", to: "two/stub.conf")
        #expect(await rig.servers("10.0.0.4"), "the other file")
    }

    @Test("Links in a circle are an empty file")
    func circle() async throws {
        let rig = try Rig {
            try $0.makeFolder("etc")
            try $0.link("etc/resolv.conf", to: "resolv.conf")
        }
        #expect(rig.watch.settings == ResolverSettings())
        try rig.folder.remove("etc/resolv.conf")
        try rig.folder.write("nameserver 10.0.0.4\n", to: "etc/resolv.conf")
        #expect(await rig.servers("10.0.0.4"))
    }
}
