import Foundation
import Glibc
import Synchronization
import Testing
import Tidegate
import TidegateTestKit

@testable import TidegateDaemon

/// What a service manager receives (sd_notify(3)); a script stands in its place.
@Suite(.timeLimit(.minutes(5))) struct NotifySocketTests {
    /// A script that prints each notice on a line, and the name of its socket.
    private static func receiver(_ name: String) async throws -> Program {
        let program = try Program([
            "python3", "-u", "-c",
            """
            import socket, sys
            inbox = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
            inbox.bind(sys.argv[1].replace("@", "\\0", 1))
            print("bound")
            while True: print(inbox.recv(4096).decode().replace("\\n", " "))
            """, name,
        ])
        try #require(await eventually { program.outputSoFar.hasPrefix("bound\n") }, "\(program.errorsSoFar)")
        return program
    }

    private static func name() -> String { "@tidegate-notices-\(UUID().uuidString)" }

    @Test("A daemon reports that it is ready once its sockets listen, then its status, reloads, life and end")
    func daemon() async throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: "notices-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        let (file, socket) = (directory.appending(path: "t.yml").path, directory.appending(path: "notices").path)
        try "tasks: []\n".write(toFile: file, atomically: true, encoding: .utf8)
        let manager = try await Self.receiver(socket)
        defer { manager.signal(SIGKILL) }
        let daemon = try Program(
            [
                BuiltProduct.path(of: "tidegate"), "serve", "--config.file", file, "--web.listen-address",
                "127.0.0.1:0",
                "--state.dir", directory.path, "--control.socket", directory.appending(path: "control").path,
            ], environment: ["NOTIFY_SOCKET": socket, "WATCHDOG_USEC": "100000"])
        defer { daemon.signal(SIGKILL) }
        func received(_ text: String) async -> Bool { await eventually { manager.outputSoFar.contains(text) } }
        #expect(await received("READY=1\n"))
        let isLogged = await eventually {
            let log = daemon.errorsSoFar
            return log.contains("msg=\"control socket listening\"") && log.contains("msg=listening")
        }
        #expect(isLogged, "\(daemon.errorsSoFar)")
        for notice in ["\nSTATUS=", "\nWATCHDOG=1\n"] { #expect(await received(notice), "\(manager.outputSoFar)") }
        daemon.signal(SIGHUP)
        let reload = #/\nRELOADING=1 MONOTONIC_USEC=[0-9]+\n(.*\n)*READY=1\n/#
        #expect(await eventually { manager.outputSoFar.firstMatch(of: reload) != nil }, "\(manager.outputSoFar)")
        daemon.signal(SIGTERM)
        #expect(await daemon.finish().status == 0)
        #expect(await received("\nSTOPPING=1\n"))
    }

    @Test("A verdict that comes before the services start is the first status")
    func firstStatus() async throws {
        let name = Self.name()
        let manager = try await Self.receiver(name)
        defer { manager.signal(SIGKILL) }
        let bus = EventBus(time: SystemClock())
        let start = StartNotice(NotifySocket { ["NOTIFY_SOCKET": name][$0] }, sockets: 1, bus: bus)
        bus.publish(.path(PathEvent(scope: .global, from: .unknown, to: EveryEvent.routed)))
        let showing = Task { await start.showStatus() }
        defer { showing.cancel() }
        #expect(await eventually { manager.outputSoFar.contains("\nSTATUS=") }, "\(manager.outputSoFar)")
    }

    @Test("A daemon with a stalled thread gives no sign of life")
    func stalled() async throws {
        let name = Self.name()
        let receiver = try await Self.receiver(name)
        defer { receiver.signal(SIGKILL) }
        let manager = try #require(
            NotifySocket { ["NOTIFY_SOCKET": name, "WATCHDOG_USEC": "2000"][$0] })
        let checks = Mutex<[Bool]>([])
        let feeding = Task {
            await manager.feedWatchdog {
                // Stalled in the first three checks; what was received until the fourth is recorded.
                checks.withLock { checks in
                    checks.append(receiver.outputSoFar.contains("WATCHDOG=1"))
                    return checks.count > 3
                }
            }
        }
        #expect(await eventually { receiver.outputSoFar.contains("WATCHDOG=1") })
        feeding.cancel()
        await feeding.value
        #expect(checks.withLock { $0.prefix(4) } == [false, false, false, false])
    }

    @Test("Without a manager, or with a watchdog for another process, nothing is due")
    func environment() throws {
        #expect(NotifySocket { _ in nil } == nil)
        #expect(NotifySocket { ["NOTIFY_SOCKET": ""][$0] } == nil)
        func watchdog(_ microseconds: String, of process: String? = nil) throws -> Duration? {
            let values = ["NOTIFY_SOCKET": "/x", "WATCHDOG_USEC": microseconds, "WATCHDOG_PID": process]
            return try #require(NotifySocket(environment: { values[$0] ?? nil }, process: 7)).watchdog
        }
        #expect(try watchdog("30000000") == .seconds(30))
        #expect(try watchdog("30000000", of: "7") == .seconds(30))
        #expect(try watchdog("30000000", of: "8") == nil)
        for text in ["", "0", "-5", "soon"] { #expect(try watchdog(text) == nil, "\(text)") }
    }
}
