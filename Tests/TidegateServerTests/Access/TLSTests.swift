import Foundation
import Testing
import TidegateCore
import TidegateTestKit

@testable import TidegateServer

/// Real clients over TLS.
@Suite(.serialized, .enabled(if: TestAuthority.isAvailable, "openssl is not installed")) struct TLSTests {
    @Test("Responses are encrypted with the certificate, over kept-alive connections too")
    func encrypted() async throws {
        let authority = try await TestAuthority()
        let source = try ScriptedAccessPolicy(try .encrypted(try await authority.sign(["localhost"])))
        try await Fixture().serving(source) { port in
            let curl = Curl(authority: authority, port: port)
            let answer = try await curl.get("/-/healthy")
            #expect(answer.output.hasPrefix("HTTP/1.1 200"), "\(answer)")
            #expect(answer.output.hasSuffix("Tidegate is healthy.\n"))
            let metrics = try await curl.get("/metrics", "--compressed", "--http2")
            #expect(metrics.output.hasPrefix("HTTP/1.1 200") && metrics.output.contains("tidegate_build_info"))
            let twice = try await curl.get("/-/ready", "-v", "https://localhost:\(port)/-/healthy")
            #expect(twice.errors.contains("Re-using existing connection") && twice.output.contains("healthy."))
            #expect(try await curl.status("/nothing") == 404)
            #expect(try await curl.status("/metrics", "-I") == 200)
        }
    }

    @Test("Plain HTTP to the TLS port gets the reason")
    func plainRequest() async throws {
        let authority = try await TestAuthority()
        let source = try ScriptedAccessPolicy(try .encrypted(try await authority.sign(["localhost"])))
        try await Fixture().serving(source) { port in
            let answer = try await RawConnection.ask(port: port, "/metrics")
            #expect(answer.status == 400)
            #expect(answer.body == "Client sent an HTTP request to an HTTPS server.\n")
            #expect(try await Curl(authority: authority, port: port).status() == 200)
        }
    }

    @Test("A rotated certificate is served to new connections; open ones continue")
    func rotated() async throws {
        let (first, second) = (try await TestAuthority(), try await TestAuthority())
        let source = try ScriptedAccessPolicy(try .encrypted(try await first.sign(["localhost"])))
        try await Fixture().serving(source) { port in
            #expect(try await Curl(authority: first, port: port).status() == 200)
            let events = try Program(["curl", "-sN", "--cacert", first.certificate, Self.events(port)])
            defer { events.signal(SIGKILL) }
            #expect(await eventually { events.outputSoFar.contains("event: snapshot") })
            try source.use(try .encrypted(try await second.sign(["localhost"])))
            #expect(try await Curl(authority: second, port: port).status() == 200)
            #expect(try await Curl(authority: first, port: port).get().status == 60)
            #expect(kill(events.id, 0) == 0)
        }
    }

    @Test("TLS can be switched on while the endpoint runs, from the next connection on")
    func switched() async throws {
        let authority = try await TestAuthority()
        let source = try ScriptedAccessPolicy()
        try await Fixture().serving(source) { port in
            #expect(try await RawConnection.ask(port: port, "/-/healthy").status == 200)
            try source.use(try .encrypted(try await authority.sign(["localhost"])))
            #expect(try await RawConnection.ask(port: port, "/-/healthy").status == 400)
            #expect(try await Curl(authority: authority, port: port).status() == 200)
        }
    }

    @Test("Versions outside the bounds are refused")
    func versions() async throws {
        let authority = try await TestAuthority()
        let identity = try await authority.sign(["localhost"])
        let source = try ScriptedAccessPolicy(try .encrypted(identity) { $0.maximumVersion = .v1_2 })
        try await Fixture().serving(source) { port in
            let curl = Curl(authority: authority, port: port)
            #expect(try await curl.status("/-/healthy", "--tls-max", "1.2") == 200)
            #expect(try await curl.get("/-/healthy", "--tlsv1.3").status == 35)
            try source.use(try .encrypted(identity) { $0.minimumVersion = .v1_3 })
            #expect(try await curl.status("/-/healthy", "--tlsv1.3") == 200)
            #expect(try await curl.get("/-/healthy", "--tls-max", "1.2").status == 35)
        }
    }

    @Test("Cipher suites and curves are those that were chosen")
    func suites() async throws {
        let authority = try await TestAuthority()
        let identity = try await authority.sign(["localhost"])
        let source = try ScriptedAccessPolicy(
            try .encrypted(identity) { tls in
                tls.cipherSuites = ["TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384"]
                tls.curves = [.p384]
            })
        try await Fixture().serving(source) { port in
            let curl = Curl(authority: authority, port: port)
            let chosen = try await curl.get("/-/healthy", "-v", "--tls-max", "1.2")
            #expect(chosen.errors.contains("ECDHE-ECDSA-AES256-GCM-SHA384"), "\(chosen)")
            let other = ["--tls-max", "1.2", "--ciphers", "ECDHE-ECDSA-AES128-GCM-SHA256"]
            #expect(try await curl.get("/-/healthy", other[0], other[1], other[2], other[3]).status == 35)
            #expect(try await curl.get("/-/healthy", "--curves", "X25519").status == 35)
            #expect(try await curl.status("/-/healthy", "--curves", "P-384") == 200)
            // With suites of TLS 1.3 alone, older versions have none left.
            try source.use(try .encrypted(identity) { $0.cipherSuites = ["TLS_AES_128_GCM_SHA256"] })
            #expect(try await curl.get("/-/healthy", "--tls-max", "1.2").status == 35)
            #expect(try await curl.status() == 200)
        }
    }

    @Test("A stopping server ends event streams over TLS")
    func events() async throws {
        let authority = try await TestAuthority()
        let source = try ScriptedAccessPolicy(try .encrypted(try await authority.sign(["localhost"])))
        var program: Program?
        try await Fixture().serving(source) { port in
            let events = try Program(["curl", "-sN", "--cacert", authority.certificate, Self.events(port)])
            #expect(await eventually { events.outputSoFar.contains("event: snapshot") })
            program = events
        }
        let ended = try #require(program)
        #expect(await ended.finish().status != 137)
    }

    @Test("A client that leaves an event stream frees its slot, over TLS too")
    func leavers() async throws {
        let authority = try await TestAuthority()
        var fixture = Fixture()
        fixture.configuration.maxEventStreams = 1
        try await fixture.serving(try ScriptedAccessPolicy(try .encrypted(try await authority.sign(["localhost"])))) {
            port in
            for signal in [SIGKILL, SIGTERM, SIGKILL] {
                var programs: [Program] = []
                let isIn = try await eventually {
                    let events = try Program(["curl", "-sN", "--cacert", authority.certificate, Self.events(port)])
                    programs.append(events)
                    // An earlier one may have the slot, and be told later.
                    return await eventually(within: .seconds(2)) {
                        programs.contains { $0.outputSoFar.contains("event: snapshot") }
                    }
                }
                #expect(isIn)
                for program in programs { program.signal(signal) }
                for program in programs { _ = await program.finish() }
            }
        }
    }

    static func events(_ port: Int) -> String { "https://localhost:\(port)/api/v1/events" }
}
