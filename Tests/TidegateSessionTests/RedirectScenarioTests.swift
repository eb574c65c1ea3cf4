import Synchronization
import Testing
import TidegateCore
import TidegateLoop
import TidegateSession
import TidegateSessionTestKit

/// Redirects of a server with a public address, on a host that has services of its own.
@Suite(.enabled(if: NetworkNamespace.isAvailable, "network namespaces need root and ip(8)"), .timeLimit(.minutes(5)))
struct RedirectScenarioTests {
    private final class Place: Sendable {
        let host: NetworkNamespace
        let own: LiveServer
        let server: LiveServer
        let recorder = RecordingSink()
        let session: Session

        init(
            _ configuration: SessionConfiguration = .init(), leadingTo location: @escaping @Sendable (UInt16) -> String
        )
            throws
        {
            let host = try NetworkNamespace()
            try host.batch("addr add 203.0.113.10/32 dev lo\naddr add 10.0.0.1/32 dev lo")
            let own = try Self.serve(on: host, "0.0.0.0") { _ in .respond(text: "inner") }
            self.host = host
            self.own = own
            self.server = try Self.serve(on: host, "0.0.0.0") { request in
                request.path == "/end" ? .respond(text: "end") : .respond(302, ["Location: \(location(own.port))"])
            }
            let bus = EventBus(time: SystemClock())
            bus.attach(self.recorder)
            let names = ["server.test": "203.0.113.10", "inner.test": "127.0.0.1", "mapped.test": "::ffff:127.0.0.1"]
            var answers = names.mapValues { [IPAddress($0)].compactMap(\.self) }
            answers["both.test"] = [IPAddress("203.0.113.10"), IPAddress("::1")].compactMap(\.self)
            self.session = try Session(
                configuration, bus: bus, paths: NamespacePaths(host), resolver: ScriptedResolver(answers),
                time: SystemClock(), generator: SeededGenerator(seed: 7))
        }

        private static func serve(
            on host: NetworkNamespace, _ address: String,
            _ answer: @escaping @Sendable (LiveServerRequest) -> LiveServerAnswer
        ) throws -> LiveServer {
            let server = Box<LiveServer?>(nil)
            try host.inside { server.value.withLock { $0 = try? LiveServer(address: address, answer: answer) } }
            return try #require(server.value.withLock { $0 })
        }

        func result(of host: String) async throws -> TaskResult {
            let task = self.session.makeTask(try TaskRequest(url: "http://\(host):\(self.server.port)/start"))
            task.resume()
            return await task.result()
        }

        func stop() async {
            await self.session.invalidate(cancellingTasks: true)
            self.own.stop()
            self.server.stop()
        }
    }

    private final class Box<Value: Sendable>: Sendable {
        let value: Mutex<Value>
        init(_ value: Value) { self.value = Mutex(value) }
    }

    @Test(
        "A public server does not lead to this host, whatever the address is called",
        arguments: ["127.0.0.1", "inner.test", "mapped.test", "both.test", "localhost"])
    func refused(_ name: String) async throws {
        let place = try Place { "http://me:hunter2@\(name):\($0)/secret" }
        let result = try await place.result(of: "server.test")
        #expect(result.failure == .redirectRefused)
        #expect(result.attribution?.party == .theirs)
        #expect(result.clause?.contains("http://\(name):\(place.own.port)/secret") == true)
        #expect(
            result.clause?.contains("a local address") == true || result.clause?.contains("the local address") == true)
        #expect(place.own.requests.isEmpty)
        #expect(!"\(place.recorder.events)".contains("hunter2"))
        await place.stop()
    }

    @Test("The policy free lets it, and so does a server on this host or its network")
    func allowed() async throws {
        let free = try Place(.with { $0.redirects = .free }) { "http://inner.test:\($0)/x" }
        #expect(try await free.result(of: "server.test").outcome == .success)
        await free.stop()
        for host in ["127.0.0.1", "10.0.0.1"] {
            let place = try Place { "http://127.0.0.1:\($0)/x" }
            #expect(try await place.result(of: host).outcome == .success)
            await place.stop()
        }
    }

    @Test("A private server in between does not help a public one")
    func detour() async throws {
        let known = Box<UInt16>(0)
        let place = try Place { own in
            let server = known.value.withLock { $0 }
            known.value.withLock { $0 = 0 }
            return server == 0 ? "http://127.0.0.1:\(own)/x" : "http://10.0.0.1:\(server)/again"
        }
        known.value.withLock { $0 = place.server.port }
        #expect(try await place.result(of: "server.test").failure == .redirectRefused)
        #expect(place.server.requests.map(\.path) == ["/start", "/again"])
        #expect(place.own.requests.isEmpty)
        await place.stop()
    }
}
