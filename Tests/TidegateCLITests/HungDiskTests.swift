import Foundation
import Testing
import TidegateTestKit

/// The built program on a disk that does not answer any more.
@Suite(.enabled(if: FaultyDisk.isAvailable, "needs a C compiler"), .timeLimit(.minutes(5)))
struct HungDiskTests {
    private static let tidegate = BuiltProduct.path(of: "tidegate")

    @Test("A daemon whose disk does not answer ends at SIGTERM all the same, and says what it left")
    func serve() async throws {
        let disk = try await FaultyDisk()
        let server = try LiveServer { .respond(text: $0.path) }
        defer { server.stop() }
        let daemon = try disk.start([
            Self.tidegate, "serve", "--web.listen-address", "127.0.0.1:0", "--state.dir", disk.file("state"),
            "--control.socket",
            disk.file("run/control.sock"),
        ])
        defer { daemon.signal(SIGKILL) }
        let isUp = await eventually {
            daemon.errorsSoFar.contains("msg=\"control socket listening\"")
        }
        try #require(isUp, "\(daemon.errorsSoFar)")
        try disk.fail(.hungSync)
        let submit = try disk.start([
            Self.tidegate, "tasks", "submit", server.url("/x"), "--control.socket", disk.file("run/control.sock"),
        ])
        defer { submit.signal(SIGKILL) }
        // The disk may hang for an entry of the daemon's own before anybody has asked for something.
        #expect(await eventually { Self.hasConnection(disk.file("run/control.sock")) })
        #expect(await eventually { disk.wasReached(.hungSync) })
        daemon.signal(SIGTERM)
        let end = await daemon.finish()
        #expect(end.status == 1, "\(end)")
        #expect(end.errors.contains("msg=\"shutdown grace period exceeded, exiting\""), "\(end.errors)")
        #expect(server.requests.isEmpty)
        // The daemon has promised this client nothing.
        let refused = await submit.finish()
        #expect(refused.status == 1 && refused.output.isEmpty, "\(refused)")
        #expect(refused.errors.hasSuffix("closed the connection before it responded\n"), "\(refused)")
    }

    // The listener's state is 01, that of a connection in its queue 02 (proc_pid_net(5)).
    private static func hasConnection(_ socket: String) -> Bool {
        let sockets = (try? String(contentsOfFile: "/proc/net/unix", encoding: .utf8)) ?? ""
        return sockets.split(separator: "\n").contains { line in
            let fields = line.split(separator: " ")
            return fields.count == 8 && fields[5] == "03" && fields[7] == socket
        }
    }

    @Test("A fetch whose disk does not answer ends at SIGINT all the same, and leaves no file at its place")
    func fetch() async throws {
        let disk = try await FaultyDisk()
        let server = try LiveServer { .pattern(10_000, for: $0) }
        defer { server.stop() }
        try disk.fail(.hungSync)
        let fetch = try disk.start([
            Self.tidegate, "fetch", server.url("/x"), "-o", disk.file("x"), "--progress", "none",
        ])
        defer { fetch.signal(SIGKILL) }
        #expect(await eventually { disk.wasReached(.hungSync) })
        fetch.signal(SIGINT)
        let end = await fetch.finish()
        #expect(end.status == 130, "\(end)")
        #expect(!FileManager.default.fileExists(atPath: disk.file("x")))
    }
}
