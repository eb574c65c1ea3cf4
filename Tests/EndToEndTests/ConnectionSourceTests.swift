import Foundation
import Glibc
import Testing
import TidegateTestKit

/// Where `tidegate connections` has its reports from beside a sidecar: from it, or from an observer of its own.
@Suite(.enabled(if: NetworkNamespace.isAvailable, "needs root and ip(8)"), .timeLimit(.minutes(5)))
struct ConnectionSourceTests {
    private let hosts: ThreeHosts
    private let bench: EndToEndFixture

    init() throws {
        (self.hosts, self.bench) = (try ThreeHosts(), try EndToEndFixture())
    }

    private func connections(_ arguments: [String] = []) -> [String] {
        self.hosts.here.inside(
            [BuiltProduct.path(of: "tidegate"), "connections", "--control.socket", self.bench.socket] + arguments)
    }

    private func startDaemon(_ configuration: String = "{}\n", as user: [String] = []) async throws -> RunningDaemon {
        try await self.bench.startDaemon(configuration, prefix: self.hosts.here.inside(user))
    }

    /// A program's connect that the far host refuses.
    private func refuse() async throws {
        try await Program.expect(
            self.hosts.here.inside([
                "python3", "-c",
                """
                import socket
                connection = socket.socket()
                connection.settimeout(5)
                try: connection.connect(("\(ThreeHosts.farAddress.ipv4)", 1))
                except ConnectionRefusedError: pass
                else: raise SystemExit("not refused")
                """,
            ]))
    }

    private static var failure: Regex<Substring> { #/198\.51\.100\.2:1 +- +out +0 .* refused 1 \(the server\)/# }

    @Test("--watch beside a sidecar shows a connection that fails; Ctrl-C ends it with 130, SIGTERM with 143")
    func watch() async throws {
        let serve = try await self.startDaemon()
        let watches = [try self.bench.start(self.connections(["--watch"]))]
        let isWatching = await eventually { watches[0].outputSoFar.contains("No connections.\n") }
        try #require(isWatching, "\(watches[0].errorsSoFar) \(serve.log)")
        try await self.refuse()
        let isShown = await eventually { watches[0].outputSoFar.contains(Self.failure) }
        #expect(isShown, "\(watches[0].outputSoFar)")
        // What happened before it began, the sidecar knows.
        let later = try self.bench.start(self.connections(["--failed", "--watch"]))
        #expect(await eventually { later.outputSoFar.contains(Self.failure) }, "\(later.outputSoFar)")
        watches[0].signal(SIGINT)
        let interrupted = await watches[0].finish()
        #expect(interrupted.status == 130 && interrupted.errors.isEmpty, "\(interrupted)")
        later.signal(SIGTERM)
        let ended = await later.finish()
        #expect(ended.status == 143 && ended.errors.isEmpty, "\(ended)")
    }

    @Test("A sidecar that goes away ends --watch with 1 and one sentence")
    func gone() async throws {
        let serve = try await self.startDaemon()
        let watch = try self.bench.start(self.connections(["--watch"]))
        try #require(await eventually { watch.outputSoFar.contains("No connections.\n") }, "\(watch.errorsSoFar)")
        await serve.stop()
        let output = await watch.finish()
        #expect(output.status == 1, "\(output)")
        let lines = output.errors.split(separator: "\n")
        #expect(lines.count == 1, "\(lines)")
        #expect(
            lines.first?.contains(#/^tidegate: .*daemon.*/#) == true
                && lines.first?.contains("the control socket \(self.bench.socket)") == true, "\(lines)")
    }

    @Test("Root says why it does not ask another user's sidecar, and observes by itself; --control.user asks it")
    func foreign() async throws {
        try FileManager.default.setAttributes(
            [.ownerAccountID: 65_534, .groupOwnerAccountID: 65_534], ofItemAtPath: self.bench.folder.path)
        let nobody = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]
        let serve = try await self.startDaemon(as: nobody)
        try await self.refuse()
        let isKnown = try await eventually {
            try await Program.run(self.connections(["--control.user", "65534"])).output.contains(Self.failure)
        }
        #expect(isKnown, "\(serve.log)")
        let trusting = try await Program.run(self.connections(["--control.user", "65534", "--failed"]))
        #expect(trusting.status == 0 && trusting.errors.isEmpty, "\(trusting)")
        let own = try await Program.run(self.connections())
        #expect(own.status == 0 && own.output == "No connections.\n", "\(own)")
        #expect(
            own.errors
                == "tidegate: observing without the daemon, from now on: the control socket \(self.bench.socket) is another "
                + "user's (uid 65534), and was sent nothing; --control.user 65534 trusts it\n")
    }

    @Test("Without a sidecar, and beside one that does not observe, it observes on its own and reports the latter")
    func off() async throws {
        let none = try await Program.run(self.connections())
        #expect(none.status == 0 && none.errors.isEmpty && none.output == "No connections.\n", "\(none)")
        _ = try await self.startDaemon("observation: {connections: false}\n")
        let off = try await Program.run(self.connections())
        #expect(off.status == 0 && off.output == "No connections.\n", "\(off)")
        #expect(
            off.errors
                == "tidegate: observing without the daemon, from now on: it does not observe connections "
                + "(observation.connections)\n")
    }
}
