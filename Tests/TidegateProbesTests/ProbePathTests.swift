import Testing
@testable import TidegateCore
import TidegateProbes
import TidegateSession
import TidegateTestKit

/// What a probe knows of its own network.
@Suite(.timeLimit(.minutes(5)))
struct ProbePathTests {
    private static let noCarrier = Verdict(level: .none, reason: .noCarrier)

    @Test("Without a path to the target a probe ends at once, and says that it is gated")
    func gated() async throws {
        let address = try #require(IPAddress("192.0.2.1"))
        let fixture = ProbeFixture(names: ["far.test": [address]], path: { _ in Self.noCarrier })
        let report = try await fixture.probe("http://far.test/")
        #expect(report.isGated && report.value("probe_gated") == 1 && report.value("probe_success") == 0)
        #expect(report.value("probe_failure_info", "no_path", "mine") == 1)
        #expect(report.failure?.text == "no path to 192.0.2.1: eth0 has no carrier")
        #expect(report.phases == ["resolve"])
    }

    @Test("The family is the preferred one that is routed")
    func family() async throws {
        let server = try LiveServer { _ in .respond(text: "ok") }
        defer { server.stop() }
        let six = try #require(IPAddress("2001:db8::1"))
        let names = ["both.test": [six, ProbeFixture.loopback]]
        let report = try await ProbeFixture(names: names, path: { $0.family == .ipv6 ? Self.noCarrier : .unknown })
            .probe("http://both.test:\(server.port)/")
        #expect(report.value("probe_success") == 1 && report.value("probe_ip_protocol") == 4)
        #expect(report.value("probe_ip_addr_hash") == 3_668_918_509)
        let strict = try await ProbeFixture(
            .with { $0.family = FamilyPreference(.ipv6, allowsFallback: false) },
            names: ["four.test": [ProbeFixture.loopback]]
        ).probe("http://four.test:\(server.port)/")
        #expect(strict.failure?.reason == "resolve_failed")
        let preferred = try await ProbeFixture(.with { $0.family = FamilyPreference(.ipv4) }, names: names)
            .probe("http://both.test:\(server.port)/")
        #expect(preferred.value("probe_ip_protocol") == 4 && preferred.value("probe_success") == 1)
    }

    @Test("A link-local address without a zone, as a file of hosts may have, is not taken before one that works")
    func withoutZone() async throws {
        let server = try LiveServer { _ in .respond(text: "ok") }
        defer { server.stop() }
        let local = try #require(IPAddress("fe80::1"))
        let report = try await ProbeFixture(names: ["own.test": [local, ProbeFixture.loopback]])
            .probe("http://own.test:\(server.port)/")
        #expect(report.value("probe_success") == 1 && report.value("probe_ip_protocol") == 4, "\(report)")
    }

    @Test("A name that does not exist is no fault of the network; silent resolvers without a path are")
    func names() async throws {
        let unknown = try await ProbeFixture(host: Self.noCarrier).probe("http://nowhere.test/")
        #expect(unknown.failure?.reason == "resolve_failed" && !unknown.isGated)
        #expect(unknown.phases == ["resolve"] && unknown.value("probe_ip_protocol") == 0)
        let fixture = ProbeFixture(host: Self.noCarrier)
        fixture.resolver.say(.failure(.failed), about: "far.test")
        let offline = try await fixture.probe("http://far.test/")
        #expect(offline.isGated && offline.failure?.reason == "no_path" && offline.failure?.party == .mine)
    }

    @Test("Whose failure it is follows from what was seen")
    func parties() async throws {
        let server = try LiveServer { request in
            switch request.path {
            case "/reset": LiveServerAnswer([.reset])
            case "/junk": LiveServerAnswer([.send(Array("not http\r\n\r\n".utf8)), .close])
            case "/cut": LiveServerAnswer([.send(LiveServerAnswer.head(200, ["Content-Length: 9"]) + [1]), .close])
            default: .respond(Int(request.path.dropFirst()) ?? 503)
            }
        }
        let fixture = ProbeFixture()
        for (path, reason, party) in [
            ("/reset", "reset", FaultParty.theirs), ("/junk", "protocol_error", .theirs),
            ("/cut", "truncated", .theirs),
            ("/", "status", .theirs), ("/404", "status", .theirs), ("/401", "status", .mine),
        ] {
            let report = try await fixture.probe(server.url(path))
            #expect(
                report.failure?.reason == reason && report.failure?.party == party, "\(path): \(report.failure as Any)")
        }
        server.stop()
        let refused = try await fixture.probe(server.url())
        #expect(refused.failure?.reason == "connect_failed" && refused.failure?.party == .mine)
        #expect(refused.failure?.text == "127.0.0.1 refused the connection")
    }

    @Test("A path that is lost while the target is asked gates the probe: it says nothing of the target")
    func lostPath() async throws {
        let latch = Latch()
        let server = try LiveServer { _ in
            latch.open()
            return LiveServerAnswer([.hang])
        }
        defer { server.stop() }
        let fixture = ProbeFixture(
            timeout: .milliseconds(300),
            path: { _ in
                Verdict(level: latch.isOpen ? .none : .routed, reason: latch.isOpen ? .noCarrier : nil)
            })
        let report = try await fixture.probe(server.url())
        #expect(report.isGated && report.value("probe_gated") == 1)
        #expect(report.failure?.reason == "no_path" && report.failure?.party == .mine)
        #expect(report.failure?.text == "the path to 127.0.0.1 was lost: eth0 has no carrier")
    }

    @Test("What is asked through a proxy needs a path to the proxy, and none to the target", arguments: [true, false])
    func proxyPath(_ isProxyRouted: Bool) async throws {
        let proxy = try LiveServer { _ in .respond(text: "ok") }
        defer { proxy.stop() }
        let fixture = ProbeFixture(
            .with { $0.proxy = ProxyPolicy("http://127.0.0.1:\(proxy.port)") },
            path: { address in
                let isRouted = isProxyRouted == (address == ProbeFixture.loopback)
                return Verdict(level: isRouted ? .routed : .none, reason: isRouted ? nil : .noRoute)
            })
        let report = try await fixture.probe("http://198.51.100.1/")
        #expect(report.value("probe_success") == (isProxyRouted ? 1 : 0), "\(report.failure as Any)")
        #expect(report.isGated == !isProxyRouted)
    }

    @Test("Unresolved names are explained by this host's resolvers and what is before them")
    func unresolved() async throws {
        let outage = Cause.router(.silent(IPAddress(ipv4: 0x0A00_0001), link: "eth0", lastConfirmed: nil))
        for cause in [outage, nil] {
            let fixture = ProbeFixture(cause: cause)
            fixture.resolver.say(.failure(.timedOut), about: "gone.test")
            let report = try await fixture.probe("http://gone.test/")
            #expect(report.failure?.reason == "timed_out" && !report.isGated)
            #expect(report.failure?.party == (cause == nil ? .resolver : .gateway))
            #expect(report.isOutage == (cause != nil))
        }
    }

    @Test("A silent server is explained by the rungs below, and the measurement does not wait for them")
    func silence() async throws {
        let server = try LiveServer { _ in LiveServerAnswer([.hang]) }
        defer { server.stop() }
        let gateway = Cause.router(.silent(IPAddress(ipv4: 0x0A00_0001), link: "eth0", lastConfirmed: nil))
        // A server that took the request is silent itself.
        let known = try await ProbeFixture(timeout: .milliseconds(200), cause: gateway).probe(server.url())
        #expect(known.failure?.reason == "timed_out" && known.failure?.party == .theirs)
        let cut = try LiveServer { _ in
            LiveServerAnswer([.send(LiveServerAnswer.head(200, ["Content-Length: 9"]) + [1]), .hang])
        }
        defer { cut.stop() }
        let elsewhere = try await ProbeFixture(timeout: .milliseconds(200), cause: gateway).probe(cut.url())
        #expect(elsewhere.failure?.party == .gateway, "\(elsewhere.failure as Any)")
        #expect(elsewhere.value("probe_failure_info", "timed_out", "gateway") == 1)
    }

    // A server that takes a request, begins to answer and falls silent.
    private static func cut() throws -> LiveServer {
        try LiveServer { _ in
            LiveServerAnswer([.send(LiveServerAnswer.head(200, ["Content-Length: 9"]) + [1]), .hang])
        }
    }

    @Test("After a redirect the rungs below are asked about the port that it led to")
    func redirected() async throws {
        let cut = try Self.cut()
        defer { cut.stop() }
        let server = try LiveServer { _ in .respond(302, ["Location: http://other.test:\(cut.port)/"], text: "") }
        defer { server.stop() }
        let fixture = ProbeFixture(timeout: .seconds(15))
        let report = try await fixture.probe(server.url())
        #expect(report.failure?.reason == "timed_out", "\(report.failure as Any)")
        #expect(
            fixture.doubts.all.map(\.subject) == [.target(Target(address: ProbeFixture.loopback, port: cut.port))])
    }

    @Test("A failure of a scheduled probe asks the rungs below once, and one that explains itself never")
    func askedOnce() async throws {
        let cut = try Self.cut()
        defer { cut.stop() }
        let gateway = Cause.router(.silent(IPAddress(ipv4: 0x0A00_0001), link: "eth0", lastConfirmed: nil))
        let fixture = ProbeFixture(timeout: .seconds(3), cause: gateway)
        let probe = ScheduledProbe(name: "p", module: "m", target: cut.url(), every: .seconds(60))
        let report = try #require(await fixture.runner.run(probe))
        #expect(report.failure?.party == .gateway && fixture.doubts.all.count == 1)
        #expect(fixture.doubts.all.first?.isScheduled == true)
        let refusing = try LiveServer { _ in .respond(500, text: "no") }
        defer { refusing.stop() }
        let failed = try await fixture.probe(refusing.url())
        #expect(failed.failure?.party == .theirs && fixture.doubts.all.count == 1)
    }

    @Test("The log says what happened, and the module's secrets are in nothing that is shown")
    func log() async throws {
        let server = try LiveServer { _ in .respond(401, text: "no") }
        defer { server.stop() }
        let report = try await ProbeFixture(
            .with { $0.authorization = .token(scheme: "Bearer", .text("s3cret")) }
        ).probe(server.url("/?token=t0ken"))
        #expect(server.requests.first?.field("authorization") == "Bearer s3cret")
        #expect(report.log.lines.count == 6, "\(report.log.lines)")
        #expect(
            report.log.lines.contains { $0.contains("level=error") && $0.contains("401, expected 2xx") })
        #expect(!"\(report)".contains("s3cret"))
    }
}
