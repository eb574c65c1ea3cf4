import Foundation
import Testing
import TidegateCore
import TidegateSession
import TidegateTestKit

/// A finished download for whose place the disk has no room.
@Suite(.enabled(if: FaultyDisk.isAvailable, "needs a C compiler"), .timeLimit(.minutes(2)))
struct RoomForNameTests {
    private static let size: Int64 = 240_000

    private static func start(
        _ disk: FaultyDisk, _ folder: Folder, _ server: LiveServer, _ mode: String
    ) throws -> Program {
        try disk.start([
            BuiltProduct.path(of: "JournalCrashHelper"), folder.state, folder.path, "\(server.port)", mode,
        ])
    }

    private static func server() throws -> LiveServer {
        try LiveServer { request in
            request.path == "/file" ? .pattern(Self.size, for: request) : .respond(text: request.path)
        }
    }

    @Test(
        "A finished download that finds no room for its place waits beside it, and is put there when there is room",
        arguments: [FaultyDisk.Fault.fullRename, .fullSync])
    func waits(_ fault: FaultyDisk.Fault) async throws {
        let (disk, folder, server) = (try await FaultyDisk(), try Folder(), try Self.server())
        defer { server.stop() }
        try disk.fail(fault)
        let victim = try Self.start(disk, folder, server, "submit")
        defer { victim.signal(SIGKILL) }
        #expect(await eventually(within: .seconds(60)) { disk.isMet(fault) })
        // The other tasks are over; this one is not, and what it has is kept.
        #expect(await eventually(within: .seconds(60)) { server.requests.contains { $0.path == "/rested" } })
        #expect(!FileManager.default.fileExists(atPath: folder.file("file")))
        try disk.heal(fault)
        let end = await victim.finish(within: .seconds(60))
        #expect(end.status == 0, "\(end)")
        #expect(folder.hasPattern("file", Self.size))
        let fetched = server.requests.count { $0.path == "/file" }
        // A file that is whole is not fetched again; what may not have been written is.
        #expect(fault == .fullRename ? fetched == 1 : fetched > 1, "\(fetched)")
        let rig = try JournalRig(folder)
        let tasks = try await rig.session.find(.ended(atMost: 10))
        #expect(tasks.count == 4 && tasks.allSatisfy { $0.end?.outcome == .success }, "\(tasks)")
        await rig.stop()
    }

    @Test("A process that is killed while its file waits for room loses nothing")
    func killed() async throws {
        let (disk, folder, server) = (try await FaultyDisk(), try Folder(), try Self.server())
        defer { server.stop() }
        try disk.fail(.fullRename)
        let victim = try Self.start(disk, folder, server, "submit")
        #expect(await eventually(within: .seconds(60)) { disk.isMet(.fullRename) })
        #expect(await eventually(within: .seconds(60)) { victim.outputSoFar.contains("rested ") })
        victim.signal(SIGKILL)
        _ = await victim.finish(within: .seconds(60))
        try disk.heal(.fullRename)
        let end = await (try Self.start(disk, folder, server, "continue")).finish(within: .seconds(60))
        #expect(end.status == 0, "\(end)")
        #expect(folder.hasPattern("file", Self.size))
    }
}
