import Foundation
import Testing
import TidegateTestKit

/// `run` and `wait` as people use them, each in a network of its own.
@Suite(.enabled(if: NetworkNamespace.isAvailable, "needs root and ip(8)"), .serialized)
struct RunScenarioTests {
    /// A host with a default route to another one on its link.
    private struct Pair {
        let host: NetworkNamespace
        let router: NetworkNamespace

        init() throws {
            // Equal indexes at both ends would make the kernel delay carrier events.
            self.host = try NetworkNamespace("h")
            self.router = try NetworkNamespace("r")
            try self.host.ip("link add v0 index 77 type veth peer name p0 netns \(self.router.name)")
            try self.router.batch("addr add 10.0.0.1/24 dev p0\nlink set p0 up")
            try self.host.batch("addr add 10.0.0.2/24 dev v0\nlink set v0 up\nroute add default via 10.0.0.1")
        }

        func pull() throws { try self.router.ip("link set p0 down") }

        func plug() throws {
            try self.router.ip("link set p0 up")
            // The kernel drops the route with the link's admin state, never with its carrier; replace is for both.
            try self.host.ip("route replace default via 10.0.0.1")
        }

        func start(_ arguments: [String]) throws -> Program {
            try Program(["ip", "netns", "exec", self.host.name, BuiltProduct.path(of: "tidegate")] + arguments)
        }

        func run(_ arguments: [String]) async throws -> Program.Output { try await self.start(arguments).finish() }
    }

    // The first time it works until the cable is out, and fails; the second time it is done.
    private static func copy(remembering file: String) -> String {
        """
        if [ -e '\(file)' ]; then echo copied; exit 0; fi
        touch '\(file)'; echo begun
        while [ "$(cat /sys/class/net/v0/carrier)" = 1 ]; do sleep 0.05; done
        exit 23
        """
    }

    @Test("A command that fails while the cable is out runs again when it is back")
    func cable() async throws {
        let pair = try Pair()
        let file = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString).path
        defer { unlink(file) }
        let program = try pair.start(["run", "--", "sh", "-c", Self.copy(remembering: file)])
        try #require(await eventually { program.outputSoFar.contains("begun") }, "\(program.errorsSoFar)")
        try pair.pull()
        #expect(await eventually { program.errorsSoFar.contains("waiting: carrier: v0 has no carrier") })
        #expect(
            program.errorsSoFar.hasPrefix(
                "command exited with status 23 while the path was lost (v0 has no carrier); retry 1 of 3\n"),
            "\(program.errorsSoFar)")
        try pair.plug()
        let output = await program.finish()
        #expect(output.status == 0 && output.output == "begun\ncopied\n", "\(output)")
    }

    @Test("A failure that comes before the loss it announces is tried again, too")
    func announcedLoss() async throws {
        let pair = try Pair()
        let file = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString).path
        defer { unlink(file) }
        let script = "[ -e '\(file)' ] && exit 0; touch '\(file)'; echo failed; exit 9"
        let program = try pair.start(["run", "--", "sh", "-c", script])
        try #require(await eventually { program.outputSoFar.contains("failed") }, "\(program.errorsSoFar)")
        try pair.host.ip("route del default")
        #expect(await eventually { program.errorsSoFar.contains("retry 1 of 3") }, "\(program.errorsSoFar)")
        try pair.host.ip("route add default via 10.0.0.1")
        #expect(await program.finish().status == 0)
    }

    @Test("A failure on a good path ends with the command's code, and a retry of none asks for no patience")
    func ownFailure() async throws {
        let pair = try Pair()
        let output = try await pair.run(["run", "--", "sh", "-c", "exit 7"])
        #expect(output.status == 7 && output.errors.isEmpty, "\(output)")
        // Not 137, which would also be the status of a program that waited and was killed for it.
        #expect(try await pair.run(["run", "--retry", "0", "--", "sh", "-c", "kill -TERM $$"]).status == 143)
    }

    @Test("Without a path in time the command never runs, and the rung is named")
    func gaveUp() async throws {
        let pair = try Pair()
        try pair.pull()
        let output = try await pair.run(["run", "-q", "--timeout", "200ms", "--", "echo", "hello"])
        #expect(output.status == 75 && output.output.isEmpty)
        #expect(output.errors == "tidegate: gave up after 200 ms: carrier: v0 has no carrier\n")
    }

    @Test(
        "A command has what the shell opened for it, and nothing that its gate opened",
        arguments: ["run --for URL --", "wait --for URL --"])
    func descriptors(command: String) async throws {
        let pair = try Pair()
        let server = try pair.router.start(["python3", "-m", "http.server", "8080", "--bind", "10.0.0.1"])
        defer { server.stop() }
        let program = ["python3", "-c", ShownDescriptors.program]
        func shown(_ command: [String]) async throws -> [String: String] {
            // Foundation leaves a socket of any number open in its child; Python's child has none.
            let only = ["python3", "-c", "import subprocess, sys; sys.exit(subprocess.run(sys.argv[1:]).returncode)"]
            let shell = only + ["bash", "-c", "exec \"$@\" 7< /etc/hostname 12> /dev/null", "bash"]
            let output = try await Program.run(shell + pair.host.inside(command))
            #expect(output.status == 0, "\(output)")
            return try JSONDecoder().decode([String: String].self, from: Data(output.output.utf8))
        }
        let arguments = command.replacing("URL", with: "http://10.0.0.1:8080/").split(separator: " ").map(String.init)
        let own = try await shown(program)
        #expect(own["7"] != nil && own["12"] != nil, "\(own)")
        let gated = try await shown([BuiltProduct.path(of: "tidegate")] + arguments + program)
        // The outputs are new files each time.
        #expect(gated.keys.sorted() == own.keys.sorted(), "\(gated)")
        for number in ["7", "12"] { #expect(gated[number] == own[number]) }
    }

    @Test("What cannot run has the codes of shells; a script without its first line can")
    func notRunnable() async throws {
        let pair = try Pair()
        let missing = try await pair.run(["run", "--", "/nowhere/x"])
        #expect(missing.status == 127 && missing.errors == "tidegate: /nowhere/x: No such file or directory\n")
        let refused = try await pair.run(["run", "--", "/etc/passwd"])
        #expect(refused.status == 126 && refused.errors == "tidegate: /etc/passwd: Permission denied\n")
        let script = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString).path
        defer { unlink(script) }
        try "echo $1\n".write(toFile: script, atomically: true, encoding: .utf8)
        chmod(script, 0o755)
        #expect(try await pair.run(["run", "--", script, "hello"]).output == "hello\n")
    }

    @Test("The command has its input, no blocked signals, and a group that hears what this one is sent")
    func surroundings() async throws {
        let pair = try Pair()
        let tidegate = BuiltProduct.path(of: "tidegate")
        let piped = try await Program.run([
            "sh", "-c", "echo hello | ip netns exec \(pair.host.name) \(tidegate) run -- cat",
        ])
        #expect(piped.output == "hello\n", "\(piped)")
        let signals = try await pair.run(["run", "--", "grep", "-E", "^SigBlk", "/proc/self/status"])
        #expect(signals.output == "SigBlk:\t0000000000000000\n", "\(signals)")
    }

    @Test("Without a terminal what the command started hears a signal as well")
    func group() async throws {
        let pair = try Pair()
        // setsid leaves the test's terminal; the command's parent is who gets the signal.
        let program = try Program([
            "setsid", "--wait", "ip", "netns", "exec", pair.host.name, BuiltProduct.path(of: "tidegate"), "run", "--",
            "sh", "-c",
            "export p=$PPID; sh -c 'trap \"echo heard; exit\" TERM; echo $p; for i in $(seq 100); do sleep 0.1; done'; true",
        ])
        try #require(await eventually { program.outputSoFar.hasSuffix("\n") }, "\(program.errorsSoFar)")
        let parent = try #require(Int32(program.outputSoFar.dropLast()))
        kill(parent, SIGTERM)
        let output = await program.finish()
        #expect(output.status == 143 && output.output.contains("heard"), "\(output)")
    }

    @Test("A signal while waiting for the path ends at once")
    func interruptedWait() async throws {
        let pair = try Pair()
        try pair.pull()
        let program = try pair.start(["run", "--", "echo", "hello"])
        try #require(await eventually { program.errorsSoFar.contains("waiting") })
        // Not SIGINT, which a shell ignores for what it runs in the background.
        program.signal(SIGTERM)
        let output = await program.finish(within: .seconds(10))
        #expect(output.status == 143 && output.output.isEmpty, "\(output)")
    }

    @Test("wait keeps waiting for an interface that does not exist yet")
    func laterInterface() async throws {
        let pair = try Pair()
        let program = try pair.start(["wait", "--for", "carrier:late0", "--timeout", "30s", "--", "echo", "there"])
        try #require(await eventually { program.errorsSoFar.contains("there is no interface late0") })
        try pair.host.batch("link add late0 type veth peer name late1\nlink set late0 up\nlink set late1 up")
        let output = await program.finish()
        #expect(output.status == 0 && output.output == "there\n", "\(output)")
    }

    @Test("wait names the first rung that is missing, of every family")
    func missing() async throws {
        let pair = try Pair()
        try pair.host.ip("route del default")
        let waited = try await pair.run(["wait", "-4", "--for", "route", "--timeout", "2s", "-q"])
        #expect(waited.status == 75)
        #expect(waited.errors == "tidegate: gave up after 2 s: route: default route missing (v4)\n", "\(waited)")
        let any = try await pair.run(["wait", "--any", "--for", "route", "--for", "carrier:v0", "--timeout", "0"])
        #expect(any.status == 0, "\(any)")
    }

    @Test("wait asks the gateway, hosts and the internet, and says what they said")
    func asking() async throws {
        let pair = try Pair()
        let listener = try NetworkNamespaceListener(port: 7001, in: pair.router)
        defer { withExtendedLifetime(listener) {} }
        #expect(try await pair.run(["wait", "--for", "gateway", "--timeout", "0"]).status == 0)
        #expect(try await pair.run(["wait", "--for", "host:10.0.0.1:7001", "--timeout", "10s"]).status == 0)
        let refused = try await pair.run(["wait", "--for", "host:10.0.0.1:7002", "--timeout", "0"])
        #expect(refused.status == 1)
        #expect(refused.errors == "tidegate: tcp: 10.0.0.1:7002: the connection was refused\n", "\(refused)")
        let silent = try await pair.run(["wait", "--for", "gateway", "-6", "--timeout", "0"])
        #expect(silent.status == 1 && silent.errors.hasPrefix("tidegate: "), "\(silent)")
        let internet = try await pair.run([
            "wait", "--for", "internet", "--internet-check", "http://10.0.0.1:7002/generate_204", "--timeout", "0",
        ])
        #expect(internet.status == 1 && internet.errors.hasPrefix("tidegate: internet: internet checks fail"))
    }

    @Test("A port that opens later is found while waiting, without a storm of questions")
    func laterPort() async throws {
        let pair = try Pair()
        let program = try pair.start(["wait", "--for", "host:10.0.0.1:7003", "--timeout", "30s"])
        try #require(await eventually { program.errorsSoFar.contains("the connection was refused") })
        let listener = try NetworkNamespaceListener(port: 7003, in: pair.router)
        defer { withExtendedLifetime(listener) {} }
        #expect(await program.finish().status == 0)
    }
}
