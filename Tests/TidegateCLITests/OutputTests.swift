import Foundation
import Testing
import TidegateTestKit

/// Answers that cannot be written, and readers that go away.
@Suite(.timeLimit(.minutes(5)))
struct OutputTests {
    private func shell(_ script: String, _ arguments: String...) async throws -> Program.Output {
        try await Program.run(["bash", "-c", script, BuiltProduct.path(of: "tidegate")] + arguments)
    }

    @Test("An answer that cannot be written is a failure and not silence", arguments: ["status --json", "--help"])
    func fullDisk(arguments: String) async throws {
        let output = try await self.shell("\"$0\" \(arguments) >/dev/full")
        #expect(output.status == 1)
        #expect(output.errors == "tidegate: cannot write to standard output: No space left on device\n")
    }

    @Test("A transfer goes on where its object cannot be written, and the end says so")
    func object() async throws {
        let server = try LiveServer { .pattern(300_000, for: $0) }
        defer { server.stop() }
        let file = "/tmp/tidegate-output-\(UUID().uuidString.prefix(8))"
        defer { unlink(file) }
        let output = try await self.shell(
            "\"$0\" fetch \"$1\" -o \"$2\" --write-out json --progress none >/dev/full", server.url("/x"), file)
        #expect(output.status == 1)
        #expect(output.errors == "tidegate: cannot write to standard output: No space left on device\n")
        #expect(FileManager.default.contents(atPath: file)?.count == 300_000)
    }

    @Test(
        "watch ends with its reader, as other programs do, and says nothing of it",
        .enabled(if: NetworkNamespace.isAvailable, "namespaces need root"))
    func reader() async throws {
        let namespace = try NetworkNamespace("out")
        try namespace.ip("link add v0 type veth peer name v1")
        // The reader leaves after the first line; the links' changes are what there is to write then.
        let script = """
            { timeout 30 "$0" watch --json; echo "ended $?" >&2; } | { head -n 1 >/dev/null; exec <&-; \
            for i in $(seq 100); do ip link set v0 up; ip link set v0 down; sleep 0.1; done; }
            """
        let output = try await Program.run(
            ["ip", "netns", "exec", namespace.name, "bash", "-c", script, BuiltProduct.path(of: "tidegate")])
        #expect(output.errors == "ended 141\n", "\(output)")
    }

    @Test("A daemon whose log has no reader serves, and ends at SIGTERM")
    func unreadLog() async throws {
        let place = "/tmp/tidegate-unread-\(UUID().uuidString.prefix(8))"
        defer { try? FileManager.default.removeItem(atPath: place) }
        // The pipe is full before the first line.
        let script = """
            mkdir -m 700 "$1" && mkfifo "$1/log" && exec 9<>"$1/log" || exit 99
            dd if=/dev/zero bs=4096 count=64 oflag=nonblock >&9 2>/dev/null
            exec "$0" serve --log.level debug --web.listen-address 127.0.0.1:0 --state.dir "$1/state" \
              --control.socket "$1/sock" 2>&9
            """
        let daemon = try Program(["bash", "-c", script, BuiltProduct.path(of: "tidegate"), place])
        defer { daemon.signal(SIGKILL) }
        let list = [BuiltProduct.path(of: "tidegate"), "tasks", "list", "--control.socket", "\(place)/sock"]
        try #require(try await eventually { try await Program.run(list).status == 0 })
        daemon.signal(SIGTERM)
        let start = ContinuousClock.now
        let end = await daemon.finish()
        #expect(end.status == 0, "\(end)")
        #expect(ContinuousClock.now - start < .seconds(10))
    }

    @Test("Without standard descriptors no file gets their numbers")
    func closedDescriptors() async throws {
        let place = "/tmp/tidegate-closed-\(UUID().uuidString.prefix(8))"
        defer { try? FileManager.default.removeItem(atPath: place) }
        let daemon = try Program([
            "bash", "-c", "exec \"$0\" \"$@\" <&- >&- 2>&-", BuiltProduct.path(of: "tidegate"), "serve",
            "--web.listen-address", "127.0.0.1:0", "--state.dir", place, "--control.socket", "\(place)/sock",
        ])
        // A response shows that the services run, and with them the handling of signals.
        let list = [BuiltProduct.path(of: "tidegate"), "tasks", "list", "--control.socket", "\(place)/sock"]
        let isUp = try await eventually { try await Program.run(list).status == 0 }
        try #require(isUp)
        for number in 0...2 {
            let link = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(daemon.id)/fd/\(number)")
            #expect(link == "/dev/null")
        }
        daemon.signal(SIGTERM)
        let output = await daemon.finish()
        #expect(output.status == 0, "\(output)")
    }
}
