import Foundation
import HTTPTypes
import Testing
import TidegateCore
import TidegateProbes
import TidegateTestKit

@Suite(.timeLimit(.minutes(5)))
struct GRPCProbeTests {
    private static let states = ["UNKNOWN", "SERVING", "NOT_SERVING", "SERVICE_UNKNOWN"]

    @Test("A service that serves is a success, with a series for each state and the phases resolve and check")
    func serving() async throws {
        let server = try await GRPCServer { _ in .health(1) }
        let report = try await GRPCProbeFixture.probe("tide.test:\(server.port)") { $0.service = "service1" }
        #expect(report.value("probe_success") == 1, "\(report.failure as Any)")
        #expect(report.grpcStatus == 0 && report.value("probe_grpc_ssl") == 0)
        let health = try #require(report.families.first { $0.name == "probe_grpc_healthcheck_response" })
        #expect(health.samples.map { $0.labels[0] } == Self.states && report.servingStatuses == ["SERVING"])
        #expect(report.phases(of: "grpc") == ["resolve", "check"])
        #expect(report.value("probe_ip_protocol") == 4 && report.value("probe_ip_addr_hash") == 3_668_918_509)
        #expect(!report.families.contains { $0.name.hasPrefix("probe_ssl") || $0.name.hasPrefix("probe_tls") })
        let call = try #require(server.calls.first)
        #expect(call.body == [0, 0, 0, 0, 10, 0x0A, 8] + Array("service1".utf8))
        #expect(call.fields[":path"] == "/grpc.health.v1.Health/Check" && call.fields[":method"] == "POST")
        #expect(call.fields[":authority"] == "tide.test:\(server.port)" && call.fields[":scheme"] == "http")
        #expect(call.fields["te"] == "trailers" && call.fields["content-type"] == "application/grpc")
        #expect(call.fields["user-agent"] == "Tidegate/1.2.3")
        let limit = try #require(call.fields["grpc-timeout"])
        #expect(limit.hasSuffix("m") && (1...20_000).contains(Int(limit.dropLast()) ?? 0), "\(limit)")
    }

    @Test("A server that does not serve fails by its own word", arguments: [0, 2, 3, 7])
    func notServing(_ number: Int) async throws {
        let report = try await GRPCProbeFixture.probe(.health(UInt8(number)))
        let state = number < Self.states.count ? Self.states[number] : "\(number)"
        #expect(report.value("probe_success") == 0 && report.grpcStatus == 0)
        #expect(report.servingStatuses == [state])
        #expect(report.failure?.reason == "not_serving" && report.failure?.party == .theirs)
        #expect(report.failure?.text == "the server says \(state)")
    }

    @Test(
        "A status of the server's is the probe's, and asking for credentials is this host's matter",
        arguments: [
            (1, "CANCELLED"), (2, "UNKNOWN"), (3, "INVALID_ARGUMENT"), (4, "DEADLINE_EXCEEDED"), (5, "NOT_FOUND"),
            (6, "ALREADY_EXISTS"), (7, "PERMISSION_DENIED"), (8, "RESOURCE_EXHAUSTED"), (9, "FAILED_PRECONDITION"),
            (10, "ABORTED"), (11, "OUT_OF_RANGE"), (12, "UNIMPLEMENTED"), (13, "INTERNAL"), (14, "UNAVAILABLE"),
            (15, "DATA_LOSS"), (16, "UNAUTHENTICATED"), (17, "17"),
        ])
    func statuses(_ code: Int, _ name: String) async throws {
        let report = try await GRPCProbeFixture.probe(.status("\(code)", "unknown%20service%0A%C3%A4%"))
        #expect(report.value("probe_success") == 0 && report.grpcStatus == Double(code))
        #expect(report.servingStatuses.isEmpty && report.value("probe_grpc_healthcheck_response", "SERVING") == 0)
        #expect(report.failure?.reason == "status" && report.failure?.party == (code == 16 ? .mine : .theirs))
        #expect(report.failure?.text == "the server answered \(name): unknown service ä%")
        // Behind a message it counts as much.
        let late = try await GRPCProbeFixture.probe(.message([0x08, 1], status: "\(code)"))
        #expect(late.grpcStatus == Double(code) && late.failure?.text == "the server answered \(name)")
    }

    @Test("Targets are HOST, HOST:PORT or a URL of http or https, whose scheme says nothing of TLS")
    func targets() async throws {
        let server = try await GRPCServer { _ in .health(1) }
        for target in [
            "127.0.0.1:\(server.port)", "http://127.0.0.1:\(server.port)", "https://127.0.0.1:\(server.port)/x?y",
            "http://user:s3cret@127.0.0.1:\(server.port)", "127.0.0.1:\(server.port)/x",
            "127.0.0.1:\(server.port)/x://y", "http://127.0.0.1:\(server.port)?next=http://a.example/",
        ] {
            let report = try await GRPCProbeFixture.probe(target)
            #expect(report.value("probe_success") == 1, "\(target): \(report.failure as Any)")
        }
        for target in ["grpc://127.0.0.1:\(server.port)", ":0", "127.0.0.1:99999", "a b:1"] {
            let report = try await GRPCProbeFixture.probe(target)
            #expect(report.failure?.reason == "invalid_target" && report.failure?.party == .mine, "\(target)")
            #expect(report.grpcStatus == 0 && report.phases(of: "grpc") == ["resolve"])
        }
        // Nothing listens at the ports of HTTP, which the report names like the requested one.
        for (usesTLS, name) in [(false, "80"), (true, "443")] {
            let report = try await GRPCProbeFixture.probe("127.0.0.77") { $0.usesTLS = usesTLS }
            #expect(report.failure?.reason == "connect_failed" && report.grpcStatus == 14, "\(name)")
        }
        #expect(server.calls.count == 7)
    }

    @Test("An IPv6 address is in brackets in what is sent")
    func ipv6() async throws {
        let server = try await GRPCServer(address: "::1") { _ in .health(1) }
        let report = try await GRPCProbeFixture.probe("[::1]:\(server.port)")
        #expect(report.value("probe_success") == 1 && report.value("probe_ip_protocol") == 6)
        #expect(server.calls.first?.fields[":authority"] == "[::1]:\(server.port)")
    }

    @Test("The chosen address is asked, under the name that was given, if both policy and path allow it")
    func address() async throws {
        let server = try await GRPCServer { _ in .health(1) }
        let six = try #require(IPAddress("::1"))
        let names = ["both.test": [six, ProbeFixture.loopback]]
        let four = try await GRPCProbeFixture.probe("both.test:\(server.port)", names: names) {
            $0.family = FamilyPreference(.ipv4, allowsFallback: false)
        }
        #expect(four.value("probe_success") == 1 && four.value("probe_ip_protocol") == 4)
        #expect(server.calls.first?.fields[":authority"] == "both.test:\(server.port)")
        let none = try await GRPCProbeFixture.probe("six.test:\(server.port)", names: ["six.test": [six]]) {
            $0.family = FamilyPreference(.ipv4, allowsFallback: false)
        }
        #expect(none.failure?.reason == "resolve_failed" && none.servingStatuses.isEmpty)
        #expect(!none.families.contains { $0.name == "probe_grpc_healthcheck_response" })
        let denied = try await GRPCProbeFixture.probe(
            "both.test:\(server.port)", names: names, targets: ProbeTargetPolicy(deny: [.host("both.test")]))
        #expect(denied.failure?.reason == "target_denied")
        let gated = try await GRPCProbeFixture.probe(
            "both.test:\(server.port)", names: names,
            path: Verdict(level: .none, reason: .noCarrier))
        #expect(gated.value("probe_gated") == 1 && gated.failure?.reason == "no_path")
        #expect(server.calls.count == 1)
    }

    @Test("Metadata is sent with the call, some of it in base64, and shown nowhere")
    func metadata() async throws {
        let server = try await GRPCServer { _ in .health(1) }
        let report = try await GRPCProbeFixture.probe("127.0.0.1:\(server.port)") {
            $0.metadata = [
                HTTPField(name: .authorization, value: "Bearer s3cret"),
                HTTPField(name: try #require(HTTPField.Name("Trace-Bin")), value: "ab"),
            ]
        }
        #expect(report.value("probe_success") == 1, "\(report.failure as Any)")
        let call = try #require(server.calls.first)
        #expect(call.fields["authorization"] == "Bearer s3cret" && call.fields["trace-bin"] == "YWI=")
        #expect(!report.log.lines.joined().contains("s3cret"))
    }

    @Test("The parameter hostname is for other probers, as in blackbox_exporter")
    func hostname() async throws {
        let server = try await GRPCServer { _ in .health(1) }
        let report = try await GRPCProbeFixture.probe("127.0.0.1:\(server.port)", hostname: "foo.example.com")
        #expect(report.value("probe_success") == 1 && report.configuration == "prober: grpc\n")
        #expect(server.calls.first?.fields[":authority"] == "127.0.0.1:\(server.port)")
    }
}
