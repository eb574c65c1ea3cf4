import Foundation
import Testing
import TidegateCore
import TidegateSession
import TidegateTestKit

/// A finished download that cannot be moved to its destination because the disk is full.
@Suite(.enabled(if: FaultyDisk.isAvailable, "needs a C compiler"), .timeLimit(.minutes(5)))
struct CommitOnFullDiskTests {
    private static let size: Int64 = 240_000

    private static func start(
        _ disk: FaultyDisk, _ directory: TestDirectory, _ server: LiveServer, _ mode: String
    ) throws -> Program {
        try disk.start([
            BuiltProduct.path(of: "JournalCrashHelper"), directory.state, directory.path, "\(server.port)", mode,
        ])
    }

    private static func server() throws -> LiveServer {
        try LiveServer { request in
            request.path == "/file" ? .pattern(Self.size, for: request) : .respond(text: request.path)
        }
    }

    @Test(
        "A finished download waits beside its destination while the disk is full, and is committed when there is space",
        arguments: [FaultyDisk.Fault.fullRename, .fullSync])
    func waits(_ fault: FaultyDisk.Fault) async throws {
        let (disk, directory, server) = (try await FaultyDisk(), try TestDirectory(), try Self.server())
        defer { server.stop() }
        try disk.fail(fault)
        let helper = try Self.start(disk, directory, server, "submit:file,post,keyed,suspended")
        defer { helper.signal(SIGKILL) }
        #expect(await eventually { disk.wasReached(fault) })
        // The other tasks have ended; this one has not, and its file is kept.
        #expect(await eventually { server.requests.contains { $0.path == "/suspended" } })
        #expect(!FileManager.default.fileExists(atPath: directory.file("file")))
        try disk.repair(fault)
        let end = await helper.finish()
        #expect(end.status == 0, "\(end)")
        #expect(directory.hasPattern("file", Self.size))
        let fetched = server.requests.count { $0.path == "/file" }
        // A complete file is not fetched again; bytes that may not be on the disk are.
        #expect(fault == .fullRename ? fetched == 1 : fetched > 1, "\(fetched)")
        let fixture = try JournalFixture(directory)
        let tasks = try await fixture.session.find(.ended(atMost: 10))
        #expect(tasks.count == 4 && tasks.allSatisfy { $0.end?.outcome == .success }, "\(tasks)")
        await fixture.stop()
    }

    @Test(
        "A file that is at its destination stays whole while its directory cannot be written, and is not fetched again")
    func moved() async throws {
        let (disk, directory, server) = (try await FaultyDisk(), try TestDirectory(), try Self.server())
        defer { server.stop() }
        try disk.fail(.fullDirectorySync)
        let helper = try Self.start(disk, directory, server, "submit:file,post,keyed,suspended")
        defer { helper.signal(SIGKILL) }
        #expect(await eventually { disk.wasReached(.fullDirectorySync) })
        #expect(await eventually { server.requests.contains { $0.path == "/suspended" } })
        #expect(await eventually { directory.hasPattern("file", Self.size) })
        try disk.repair(.fullDirectorySync)
        let end = await helper.finish()
        #expect(end.status == 0, "\(end)")
        #expect(directory.hasPattern("file", Self.size))
        #expect(server.requests.count { $0.path == "/file" } == 1)
    }

    @Test("A process that is killed while its file waits for space loses nothing")
    func killed() async throws {
        let (disk, directory, server) = (try await FaultyDisk(), try TestDirectory(), try Self.server())
        defer { server.stop() }
        try disk.fail(.fullRename)
        let helper = try Self.start(disk, directory, server, "submit:file,post,keyed,suspended")
        #expect(await eventually { disk.wasReached(.fullRename) })
        #expect(await eventually { helper.outputSoFar.contains("suspended ") })
        helper.signal(SIGKILL)
        _ = await helper.finish()
        try disk.repair(.fullRename)
        let end = await (try Self.start(disk, directory, server, "continue")).finish()
        #expect(end.status == 0, "\(end)")
        #expect(directory.hasPattern("file", Self.size))
    }
}
