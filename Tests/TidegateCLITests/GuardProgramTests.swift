import Foundation
import Testing
import TidegateTestKit

/// `tidegate guard` where it cannot get an answer: other monitors mute an alarm on 1 only.
@Suite(.timeLimit(.minutes(5)))
struct GuardProgramTests {
    /// Runs the guard; one that hangs is killed, and its status is 137.
    private func run(_ arguments: [String], as user: [String] = []) async throws -> Program.Output {
        try await Program.run(user + [BuiltProduct.path(of: "tidegate"), "guard"] + arguments, limit: .seconds(60))
    }

    private func path() -> String { "/tmp/tidegate-guard-\(UUID().uuidString.prefix(8))" }

    @Test("Without a daemon the guard ends with 3, and gives the reason on standard error and as JSON")
    func noDaemon() async throws {
        let output = try await self.run(["--control.socket", "/nowhere/sock"])
        #expect(output.status == 3 && output.output.isEmpty, "\(output)")
        #expect(output.errors.contains("no daemon is listening on the control socket /nowhere/sock"), "\(output)")
        let json = try await self.run(["--json", "--control.socket", "/nowhere/sock"])
        let answer = try #require(try JSONSerialization.jsonObject(with: Data(json.output.utf8)) as? [String: Any])
        #expect(json.status == 3 && answer["clear"] is NSNull && answer["party"] is NSNull, "\(json)")
        #expect((answer["cause"] as? String)?.contains("/nowhere/sock") == true)
    }

    @Test(
        "A broken answer ends with 3",
        arguments: [
            ([], "closed the connection before it responded"), ([.send("hello\r\n\r\n")], "failed"),
            ([.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")], "the daemon's answer is no guard's"),
            ([.send("HTTP/1.1 503 Busy\r\nContent-Length: 4\r\n\r\nBusy")], "malformed response"),
            (
                [.send("HTTP/1.1 503 No\r\nContent-Length: 16\r\n\r\n{\"clear\":\"nope\"}")],
                "the daemon's answer is no guard's"
            ),
            ([.send("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")], "responded with status 404"),
        ] as [([ScriptedServer.Step], String)])
    func broken(answer: [ScriptedServer.Step], message: String) async throws {
        let path = self.path()
        let server = try await ScriptedServer([.read] + answer, path: path)
        let output = try await self.run(["--control.socket", path])
        #expect(output.status == 3 && output.errors.contains(message), "\(output)")
        withExtendedLifetime(server) { _ = unlink(path) }
    }

    @Test("A socket that accepts and never answers, and one whose answer never ends, end with 3")
    func silent() async throws {
        let answers: [[ScriptedServer.Step]] = [
            [.hang], [.read, .send("HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n{"), .hang],
        ]
        for steps in answers {
            let path = self.path()
            let server = try await ScriptedServer(steps, path: path)
            let output = try await self.run(["--control.socket", path])
            #expect(output.status == 3, "\(output)")
            #expect(output.errors.contains("the control socket \(path) did not answer within 1.5 s"), "\(output)")
            withExtendedLifetime(server) { _ = unlink(path) }
        }
    }

    @Test(
        "Beside a stopped sidecar the guard ends with 3; once the sidecar goes on, a malformed target is a usage error")
    func stopped() async throws {
        let daemon = try await ConfiguredDaemon(configuration: "journal: {keep_completed: 1h}\n")
        daemon.signal(SIGSTOP)
        let stopped = try await self.run(["--control.socket", daemon.socket])
        #expect(stopped.status == 3 && stopped.errors.contains("did not answer within 1.5 s"), "\(stopped)")
        daemon.signal(SIGCONT)
        let usage = try await self.run([":::", "--control.socket", daemon.socket])
        #expect(usage.status == 2 && usage.errors.contains("target: "), "\(usage)")
        _ = await daemon.stop()
    }

    @Test("An option that does not exist is a usage error")
    func usage() async throws {
        #expect(try await self.run(["--mute"]).status == 2)
    }

    @Test(
        "Another user's socket, and one that this user may not open, end with 3",
        .enabled(if: geteuid() == 0, "needs root"))
    func foreign() async throws {
        let path = self.path()
        let listener = try Program([
            "setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", "/usr/bin/python3", "-c",
            "import socket, sys, time; s = socket.socket(socket.AF_UNIX); s.bind(sys.argv[1]); s.listen(); time.sleep(300)",
            path,
        ])
        defer {
            listener.signal(SIGKILL)
            unlink(path)
        }
        try #require(await eventually(within: .seconds(60)) { FileManager.default.fileExists(atPath: path) })
        let foreign = try await self.run(["--control.socket", path])
        #expect(foreign.status == 3 && foreign.errors.contains("is another user's (uid 65534)"), "\(foreign)")
        let daemon = try await ConfiguredDaemon(configuration: "journal: {keep_completed: 1h}\n")
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: daemon.path)
        let stranger = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]
        let denied = try await self.run(["--control.socket", daemon.socket], as: stranger)
        #expect(denied.status == 3 && denied.errors.contains("permission denied"), "\(denied)")
        _ = await daemon.stop()
    }
}
