import TidegateTransfer
import Testing
import Tidegate
import TidegateCore
@testable import TidegateNetwork
@testable import TidegateReachability
import TidegateTestKit

/// The whole ladder between real hosts: kernel, gateway, name server, portal, web server.
@Suite(.enabled(if: NetworkNamespace.isAvailable, "network namespaces need root and ip(8)"), .timeLimit(.minutes(5)))
struct LadderEndToEndTests {
    private static let names: [String: [IPAddress]] = [
        "check.test": [IPAddress(ipv4: 0xC633_6402)], "api.test": [IPAddress(ipv4: 0xC633_6402)],
    ]

    private let hosts: ThreeHosts

    init() throws { self.hosts = try ThreeHosts() }

    /// A web server that answers 204 to everything, or, as a portal, redirects every client to its login.
    private func serve(_ namespace: NetworkNamespace, port: Int, _ answer: String) throws -> RunningCommand {
        let configuration = """
            daemon off; master_process off; pid /dev/null; error_log /dev/null; events {}
            http { access_log off; server { listen \(port); listen [::]:\(port); location / { \(answer) } } }
            """
        // nginx reads its configuration from a file only; it has it after a moment, and then the file can go.
        let script = #"f=$(mktemp); printf %s "$1" > "$f"; (sleep 3; rm -f "$f") & exec nginx -e stderr -c "$f""#
        return try namespace.start(["sh", "-c", script, "sh", configuration])
    }

    private func diagnostics(_ urls: [String]) throws -> PathDiagnostics {
        let hosts = self.hosts
        let time = SystemClock()
        let resolver = ScriptedResolver(Self.names)
        let unstarted = ReachabilityMonitor(ReachabilityConfiguration(), bus: EventBus(time: time), time: time)
        let monitor = unstarted.running(
            NetlinkThread(
                unstarted, resolver: resolver, kernel: NetlinkOptions(onThreadStart: { hosts.here.enter() })))
        var settings = ResolverSettings()
        settings.nameservers = [IPAddress(ipv4: 0x0A00_0001)]
        let fixed = settings
        let policy = try InternetCheckPolicy(isEnabled: false, urls: urls.map { try InternetCheckURL($0) })
        return PathDiagnostics(
            monitor: monitor, resolver: resolver, web: TransferHTTPChecker(onThreadStart: { hosts.here.enter() }),
            internetCheck: policy, time: time,
            dependencies: PathDiagnostics.Dependencies(
                time: time, onThreadStart: { hosts.here.enter() }, settings: { fixed }))
    }

    private func explain(
        _ text: String, urls: [String] = [], within limit: Duration = .seconds(5)
    ) async throws -> Explanation {
        try await self.diagnostics(urls).diagnose(try ExplainTarget(text), within: limit)
    }

    private func check(
        _ diagnostics: PathDiagnostics, _ text: String, _ check: WaitCondition.HostCheck, within limit: Duration
    ) async throws -> ConditionEvidence {
        await HostChecks(diagnostics: diagnostics, family: nil, limit: limit).host(try Target(text), check)
    }

    private func report(_ explanation: Explanation, _ rung: Rung) throws -> RungReport {
        try #require(explanation.ladders.first?.rungs.first { $0.rung == rung })
    }

    private func isListening(_ diagnostics: PathDiagnostics, _ text: String) async throws -> Bool {
        for _ in 0..<50 {
            if try await self.check(diagnostics, text, .tcp, within: .seconds(1)) == .passed { return true }
            try await Task.sleep(for: .milliseconds(50))
        }
        return false
    }

    @Test("A web server that answers is climbed to the top")
    func top() async throws {
        let server = try self.serve(self.hosts.far, port: 80, "return 204;")
        let diagnostics = try self.diagnostics(["http://check.test/generate_204"])
        #expect(try await self.isListening(diagnostics, "198.51.100.2:80"))
        let explanation = await diagnostics.diagnose(try ExplainTarget("http://198.51.100.2/"), within: .seconds(5))
        #expect(explanation.firstFailure == nil && explanation.party == nil, "\(explanation)")
        #expect(try self.report(explanation, .internet).status == .ok)
        #expect(try self.report(explanation, .tcp).evidence.first?.contains("from 10.0.0.2") ?? false)
        #expect(try self.report(explanation, .http).evidence.first?.hasPrefix("status 204") ?? false)
        #expect(await diagnostics.internet(.ipv4).status == .ok)
        #expect(try await self.check(diagnostics, "198.51.100.2:80", .http, within: .seconds(20)) == .passed)
        #expect(try await self.check(diagnostics, "198.51.100.2:81", .tcp, within: .seconds(20)) == .failed(.refused))
        withExtendedLifetime(server) {}
    }

    @Test("A captive portal is named with the page that it redirects to, although HTTPS only fails")
    func portal() async throws {
        let portal = try self.serve(self.hosts.gateway, port: 8080, "return 302 http://portal.test/login;")
        try ThreeHosts.filter(
            self.hosts.gateway,
            """
            table ip portal {
                chain in { type nat hook prerouting priority -100; iif p0 tcp dport 80 redirect to :8080; }
                chain f { type filter hook forward priority 0; policy drop; }
            }
            """)
        let diagnostics = try self.diagnostics(["http://check.test/generate_204", "https://check.test/"])
        #expect(try await self.isListening(diagnostics, "10.0.0.1:8080"))
        let explanation = await diagnostics.diagnose(try ExplainTarget("http://198.51.100.2/"), within: .seconds(3))
        let report = try self.report(explanation, .internet)
        #expect(report.reason == .portal, "\(report)")
        #expect(report.evidence.first == "a captive portal answers: it redirects to http://portal.test/login")
        #expect(explanation.firstFailure?.rung == .internet && explanation.party == .upstream)
        #expect(explanation.advice.contains("http://portal.test/login"))
        withExtendedLifetime(portal) {}
    }

    @Test("HTTP without HTTPS is limited")
    func limited() async throws {
        let server = try self.serve(self.hosts.far, port: 80, "return 204;")
        try ThreeHosts.filter(
            self.hosts.gateway,
            "table ip t { chain f { type filter hook forward priority 0; tcp dport 443 drop; }; }")
        let diagnostics = try self.diagnostics(["http://check.test/generate_204", "https://check.test/"])
        #expect(try await self.isListening(diagnostics, "198.51.100.2:80"))
        let explanation = await diagnostics.diagnose(try ExplainTarget("198.51.100.2:443"), within: .seconds(2))
        #expect(try self.report(explanation, .internet).reason == .limited)
        // The check over http answers, so that the way out works: one check convicts only its server.
        #expect(explanation.firstFailure?.rung == .tcp)
        #expect(explanation.party != .upstream, "\(explanation)")
        withExtendedLifetime(server) {}
    }

    @Test("A closed port is theirs, without any ICMP error")
    func closed() async throws {
        let explanation = try await self.explain("198.51.100.2:81")
        #expect(explanation.firstFailure?.reason == .refused && explanation.party == .theirs, "\(explanation)")
        #expect(try self.report(explanation, .tcp).evidence.last == "no ICMP error came with it")
    }

    @Test("A dead host behind a gateway that leads to no other host is the provider's")
    func deadHost() async throws {
        let explanation = try await self.explain("198.51.100.99:80", within: .seconds(60))
        #expect(explanation.conclusion == .broken && explanation.party == .upstream, "\(explanation)")
        #expect(try self.report(explanation, .gateway).status == .ok)
    }

    @Test("A gateway without any route is the provider's failure, before the target")
    func upstream() async throws {
        let explanation = try await self.explain("203.0.113.1:80")
        #expect(explanation.firstFailure?.rung == .internet && explanation.party == .upstream, "\(explanation)")
    }

    @Test("Where everything vanishes behind the gateway, it is the provider's")
    func silence() async throws {
        try ThreeHosts.filter(
            self.hosts.gateway, "table inet t { chain f { type filter hook forward priority 0; policy drop; }; }")
        let explanation = try await self.explain("198.51.100.2:80", within: .seconds(2))
        #expect(explanation.firstFailure?.rung == .internet && explanation.party == .upstream, "\(explanation)")
        #expect(try self.report(explanation, .gateway).status == .ok)
    }
}
