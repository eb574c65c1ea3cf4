import Foundation
import Testing
import TidegateTestKit

@Suite(.serialized) struct ProgramTests {
    private func run(_ arguments: String...) async throws -> Program.Output {
        try await Program.run([BuiltProduct.path(of: "tidegate")] + arguments)
    }

    @Test("The version is an answer")
    func version() async throws {
        let output = try await self.run("--version")
        #expect(output.status == 0 && output.errors.isEmpty)
        // Of a commit only make knows; another build says so.
        let commit = /tidegate 0\.1\.0 \(commit ([0-9a-f]{12}(-dirty)?|not known: built without make)\)\n/
        #expect(output.output.wholeMatch(of: commit) != nil, "\(output.output)")
    }

    @Test("A bad flag ends with 2 and one line")
    func badFlag() async throws {
        let output = try await self.run("status", "--loud")
        #expect(output.status == 2 && output.output.isEmpty)
        #expect(output.errors == "tidegate: unknown option '--loud' (see tidegate status --help)\n")
    }

    @Test("systemd accepts the generated unit, and rates its exposure 1.5 of 10 at most")
    func systemdUnit() async throws {
        let unit = try await self.run("generate", "systemd")
        #expect(unit.status == 0 && unit.output.contains("\nExecStart=/usr/local/bin/tidegate serve "))
        #expect(unit.output.contains("\nEnvironmentFile=-/etc/default/tidegate\nExecStart="))
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.appendingPathComponent("tidegate.service").path
        try unit.output.replacing("/usr/local/bin/tidegate", with: BuiltProduct.path(of: "tidegate")).write(
            toFile: file, atomically: true, encoding: .utf8)
        for command in [["verify"], ["security", "--offline=true", "--threshold=15"]] {
            let output = try await Program.run(["systemd-analyze"] + command + [file])
            #expect(output.status == 0, "\(output)")
            #expect(!output.errors.contains("Unknown"), "\(output)")
        }
    }

    @Test("systemd accepts the generated sockets")
    func systemdSocket() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        // A socket unit needs its service.
        for (name, options) in [("tidegate.service", []), ("tidegate.socket", ["--socket"])] {
            let unit = try await Program.expect([BuiltProduct.path(of: "tidegate"), "generate", "systemd"] + options)
            try unit.replacing("/usr/local/bin/tidegate", with: BuiltProduct.path(of: "tidegate")).write(
                toFile: folder.appendingPathComponent(name).path, atomically: true, encoding: .utf8)
        }
        let output = try await Program.run([
            "systemd-analyze", "verify", folder.appendingPathComponent("tidegate.socket").path,
        ])
        #expect(output.status == 0 && !output.errors.contains("Unknown"), "\(output)")
    }

    @Test("Without /proc a command fails in one sentence")
    func withoutProc() async throws {
        let program = BuiltProduct.path(of: "tidegate")
        let output = try await Program.run([
            "/usr/bin/unshare", "--mount", "sh", "-c", "mount -t tmpfs none /proc && exec \(program) status",
        ])
        #expect(output.status == 2 && output.output.isEmpty)
        #expect(
            output.errors == "tidegate: /proc is not mounted; tidegate needs it to read its arguments and sockets\n")
    }

    @Test("A condition that does not exist is quoted")
    func nonsense() async throws {
        let output = try await self.run("wait", "--for", "nonsense")
        #expect(output.status == 2 && output.errors.hasPrefix("tidegate: --for: \"nonsense\" is not a condition"))
        #expect(output.errors.split(separator: "\n").count == 1)
    }

    @Test("wait gives way to its command, and says what cannot be run")
    func command() async throws {
        let output = try await self.run("wait", "--for", "host:127.0.0.1", "--", "sh", "-c", "echo $0; exit 7")
        #expect(output.status == 7 && output.output == "sh\n")
        let signals = try await self.run(
            "wait", "--for", "host:127.0.0.1", "--", "grep", "-E", "^SigBlk", "/proc/self/status")
        #expect(signals.output == "SigBlk:\t0000000000000000\n")
        let missing = try await self.run("wait", "--for", "host:127.0.0.1", "--", "/nowhere/at-all")
        #expect(missing.status == 127)
        #expect(missing.errors == "tidegate: /nowhere/at-all: No such file or directory\n")
        let notRunnable = try await self.run("wait", "--for", "host:127.0.0.1", "--", "/etc/passwd")
        #expect(notRunnable.status == 126)
    }

    @Test("A condition that does not hold now ends with 1 and names the rung")
    func untrue() async throws {
        let output = try await self.run("wait", "--for", "carrier:nosuchlink", "--timeout", "0")
        #expect(output.status == 1)
        #expect(output.errors == "tidegate: interface: there is no interface nosuchlink\n")
    }

    @Test("status prints one object that starts with its schema")
    func status() async throws {
        let output = try await self.run("status", "--json", "--target", "127.0.0.1:80")
        #expect(output.status == 0)
        #expect(output.output.hasPrefix("{\"schema\":1,\"level\":"))
        let object = try JSONSerialization.jsonObject(with: Data(output.output.utf8)) as? [String: Any]
        #expect(object?["mode"] as? String == "once")
        #expect((object?["targets"] as? [[String: Any]])?.first?["level"] as? String == "routed")
    }

    @Test("A destination that cannot be written is named before anything is sent")
    func unwritable() async throws {
        let folder = FileManager.default.temporaryDirectory.path
        let output = try await self.run("fetch", "http://127.0.0.1:9/x", "-o", folder)
        #expect(output.status == 1 && output.errors == "tidegate: \(folder) is a directory\n")
        let nowhere = try await self.run("fetch", "http://127.0.0.1:9/x", "-o", "/nowhere/x")
        #expect(nowhere.status == 1 && nowhere.errors == "tidegate: the directory /nowhere does not exist\n")
    }

    @Test("A body goes into a pipe, and the null device stays what it is")
    func devices() async throws {
        let server = try LiveServer { .pattern(300_000, for: $0) }
        defer { server.stop() }
        let pipe = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString).path
        #expect(mkfifo(pipe, 0o600) == 0)
        defer { unlink(pipe) }
        // The pipe has its reader before the program opens it.
        let script = """
            exec 5<>"$2" 4<"$2" 3>"$2" 5>&-
            { "$0" fetch --progress none -o "$2" "$1" 4<&- 3>&-; echo $? >&2; } | head -c 300000 <&4 | wc -c
            """
        let output = try await Program.run([
            "sh", "-c", script, BuiltProduct.path(of: "tidegate"), server.url("/x"), pipe,
        ])
        #expect(output.output == "300000\n" && output.errors == "0\n", "\(output)")
        let null = try await self.run("fetch", server.url("/x"), "-o", "/dev/null")
        #expect(null.status == 0, "\(null)")
        var status = stat()
        #expect(stat("/dev/null", &status) == 0 && status.st_mode & S_IFMT == S_IFCHR)
    }

    @Test("With -q a success prints nothing, and a failure still prints its reason")
    func quiet() async throws {
        let server = try LiveServer { $0.path == "/x" ? .respond(text: "body\n") : .respond(404, text: "") }
        defer { server.stop() }
        let good = try await self.run("fetch", "-q", server.url("/x"))
        #expect(good.status == 0 && good.output == "body\n" && good.errors.isEmpty, "\(good)")
        let bad = try await self.run("fetch", "--quiet", server.url("/none"))
        #expect(bad.status == 1 && bad.errors.contains("404 Not Found"), "\(bad)")
        #expect(bad.errors.split(separator: "\n").count == 1, "\(bad)")
        let status = try await self.run("status", "-q", "--target", "127.0.0.1:80")
        #expect(status.status == 0 && status.output.isEmpty && status.errors.isEmpty, "\(status)")
        let explain = try await self.run("explain", "-q", "127.0.0.1:9")
        #expect(explain.status == 1 && explain.output.isEmpty, "\(explain)")
    }

    @Test("A device or a pipe is no file to upload")
    func noFile() async throws {
        let output = try await self.run("fetch", "http://127.0.0.1:9/x", "--upload-file", "/dev/zero")
        #expect(output.status == 1 && output.errors == "tidegate: /dev/zero is not a regular file\n", "\(output)")
    }

    @Test("A configuration is checked without running it")
    func configurationCheck() async throws {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID().uuidString).yml").path
        defer { try? FileManager.default.removeItem(atPath: file) }
        try "transfers: {max_connections: 3}\n".write(toFile: file, atomically: true, encoding: .utf8)
        let good = try await self.run("serve", "--config.file", file, "--config.check")
        #expect(good.status == 0 && good.output == "\(file): ok\n")
        let object = try await self.run("serve", "--config.file", file, "--config.check", "--json")
        #expect(object.status == 0 && object.output == "{\"schema\":1,\"ok\":true,\"problems\":[]}\n", "\(object)")
        try "transfers: {max_connectoins: 3}\n".write(toFile: file, atomically: true, encoding: .utf8)
        let bad = try await self.run("serve", "--config.file", file, "--config.check")
        #expect(bad.status == 2 && bad.output.isEmpty)
        #expect(bad.errors.contains("\(file):1: transfers.max_connectoins: unknown key (did you mean"))
        let json = try await self.run("serve", "--config.file", file, "--config.check", "--json")
        #expect(json.status == 2 && json.errors.isEmpty, "\(json)")
        #expect(
            json.output.hasPrefix("{\"schema\":1,\"ok\":false,\"problems\":[{\"file\":\"\(file)\",\"line\":1,"),
            "\(json)")
        #expect(json.output.contains("\"key\":\"transfers.max_connectoins\",\"message\":\"unknown key"), "\(json)")
    }

    @Test("serve runs without a file, ends on SIGTERM, and names a port in use")
    func serve() async throws {
        let address = "127.0.0.1:\(Int.random(in: 20_000...30_000))"
        let (home, other) = (Home(), Home())
        let first = try Program(
            [BuiltProduct.path(of: "tidegate"), "serve", "--web.listen-address", address] + home.options)
        let isUp = await eventually { first.errorsSoFar.contains("msg=listening address=\(address)") }
        try #require(isUp, "\(first.errorsSoFar)")
        #expect(await eventually { first.errorsSoFar.contains("msg=\"open http://\(address)/\"") })
        let second = try await Program.run(
            [BuiltProduct.path(of: "tidegate"), "serve", "--web.listen-address", address] + other.options)
        #expect(second.status == 1)
        #expect(second.errors.contains("tidegate: cannot listen on \(address): the port is in use\n"))
        first.signal(SIGTERM)
        let output = await first.finish()
        #expect(output.status == 0 && output.errors.contains("msg=stopping"))
    }

    @Test("An invalid file on SIGHUP keeps the old configuration, a valid one is applied")
    func reload() async throws {
        let server = try LiveServer { .respond(text: $0.path) }
        defer { server.stop() }
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID().uuidString).yml").path
        defer { try? FileManager.default.removeItem(atPath: file) }
        func write(_ text: String) throws { try text.write(toFile: file, atomically: true, encoding: .utf8) }
        try write("transfers: {max_connections: 3}\n")
        let home = Home()
        let daemon = try Program(
            [
                BuiltProduct.path(of: "tidegate"), "serve", "--config.file", file, "--web.listen-address",
                "127.0.0.1:0", "--log.format", "json",
            ] + home.options)
        try #require(await eventually { daemon.errorsSoFar.contains("\"msg\":\"listening\"") }, "\(daemon.errorsSoFar)")
        try write("transfers: {max_connections: many}\n")
        daemon.signal(SIGHUP)
        let isRefused = await eventually {
            daemon.errorsSoFar.contains("\(file):1: transfers.max_connections: expected a whole number")
        }
        #expect(isRefused, "\(daemon.errorsSoFar)")
        #expect(server.requests.isEmpty)
        // The new task runs at once; the changed section is named as one that needs a restart.
        try write(
            "transfers: {max_connections: 4}\n"
                + "tasks: [{name: again, url: \"\(server.url("/reloaded"))\", every: 1h, jitter: 0%}]\n")
        daemon.signal(SIGHUP)
        let isApplied = await eventually { server.requests.map(\.path) == ["/reloaded"] }
        #expect(isApplied, "\(daemon.errorsSoFar)")
        let isSaid = await eventually {
            daemon.errorsSoFar.contains("\"not_applied\":\"transfers.max_connections\"")
        }
        #expect(isSaid, "\(daemon.errorsSoFar)")
        daemon.signal(SIGTERM)
        #expect(await daemon.finish().status == 0)
    }

    @Test("A transfer that found no path of its kind in time ends with 75 and names the rung")
    func gaveUp() async throws {
        let output = try await self.run(
            "fetch", "http://127.0.0.1:9/x", "--discard", "--require", "interface:nosuchlink", "--wait", "100ms",
            "--write-out", "json")
        #expect(output.status == 75)
        let last = output.errors.split(separator: "\n").last ?? ""
        #expect(last.contains(": gave up waiting for a path: the path leaves by "), "\(output.errors)")
        #expect(last.contains("nosuchlink"), "\(output.errors)")
        #expect(output.errors.components(separatedBy: "gave up").count == 2, "\(output.errors)")
        #expect(output.output.contains("\"requireUnmet\":\"interface:nosuchlink\""), "\(output.output)")
    }

    @Test("SIGINT cancels the transfers and ends with 130")
    func interrupt() async throws {
        let program = try Program([
            BuiltProduct.path(of: "tidegate"), "fetch", "http://127.0.0.1:9/x", "--discard", "--require",
            "interface:nosuchlink",
        ])
        try #require(await eventually { program.errorsSoFar.contains("waiting") }, "\(program.errorsSoFar)")
        program.signal(SIGINT)
        let output = await program.finish()
        #expect(output.status == 130 && output.errors.contains("cancelled"), "\(output.errors)")
    }

    @Test("A connection that this host itself refuses is its own failure, and ends with 1")
    func refused() async throws {
        let output = try await self.run("fetch", "http://127.0.0.1:9/x", "--discard", "--retry", "0")
        #expect(output.status == 1)
        #expect(output.errors.contains("failed: 127.0.0.1 refused the connection (this host)"))
    }
}

/// A place for a daemon's state and socket, removed with it.
private final class Home {
    private let path = "/tmp/tidegate-home-\(UUID().uuidString.prefix(8))"

    var options: [String] { ["--state.dir", self.path, "--control.socket", "\(self.path)/control.sock"] }

    deinit { try? FileManager.default.removeItem(atPath: self.path) }
}
