import Foundation
import Synchronization
import Testing
import TidegateCore
import TidegateSession
import TidegateSessionTestKit
import TidegateTransfer

@testable import TidegateSession

@Suite("Server trust policy", .enabled(if: TestAuthority.isAvailable, "openssl(1) is not installed"))
struct ServerTrustPolicyTests {
    private static let loopback = IPAddress(ipv4: 0x7F00_0001)
    private static let pin = "sha256//AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="

    private static func problem(_ policy: ServerTrustPolicy) -> String? {
        do throws(ConfigurationValueError) {
            try policy.validate()
            return nil
        } catch {
            return error.description
        }
    }

    @Test("A policy that says nothing, or too much, is refused with the rule")
    func validation() {
        let policies: [(ServerTrustPolicy, String?)] = [
            (.init(), nil),
            (
                .init(pins: ["a.example": [Self.pin, String(repeating: "AB:", count: 31) + "ab"], "*": [Self.pin]]), nil
            ),
            (.init(caFile: ""), "tls.caFile: the file has no name"),
            (.init(pins: ["a.example": []]), "tls.pins: a.example has no pin"),
            (.init(pins: ["a b": [Self.pin]]), "tls.pins: \"a b\" is not a host"),
            (
                .init(pins: ["a.example:443": [Self.pin]]),
                "tls.pins: \"a.example:443\" has a port; settings for a host apply to all of its ports"
            ),
            (
                .init(hosts: ["A.example": .init(), "a.example": .init()]),
                "tls.hosts: \"A.example\" and \"a.example\" are the same host"
            ),
            (
                .init(pins: ["a.example": ["sha1//AAAA"]]),
                "tls.pins: a.example: \"sha1//AAAA\" is neither sha256// and the hash of a public key in base64, nor "
                    + "the 64 hexadecimal digits of a certificate's SHA-256 fingerprint"
            ),
            (
                .init(validatesHostName: false), "tls.validatesHostName: names are validated unless a host has pins"
            ),
            (.init(clientKey: "/k"), "tls.clientKey: a client key needs its certificate"),
            (
                .init(hosts: ["a.example": .init(clientKey: "/k")]),
                "tls.hosts: a.example: a client key needs its certificate"
            ),
            (
                .init(hosts: ["a.example": .init(hosts: ["b.example": .init()])]),
                "tls.hosts: the policy of a.example has policies of other hosts"
            ),
        ]
        for (policy, problem) in policies { #expect(Self.problem(policy) == problem) }
    }

    @Test("A host has its own policy, pins go by host, and names are left out only where there are pins")
    func hosts() throws {
        let policy = ServerTrustPolicy(
            caFile: "/ca", pins: ["b.example": [Self.pin]], validatesHostName: false, clientCertificate: "/c",
            hosts: ["Bücher.example": ServerTrustPolicy(isInsecure: true, clientCertificate: "/own")])
        let own = policy.options(
            for: try HTTPURL("https://xn--bcher-kva.example/"), showsCertificate: false, evaluator: nil)
        #expect(own.isInsecure && own.caFile == nil && own.clientCertificate == "/own")
        let pinned = policy.options(for: try HTTPURL("https://b.example/"), showsCertificate: false, evaluator: nil)
        #expect(pinned.pins.count == 1 && !pinned.verifiesName && pinned.clientCertificate == nil)
        let other = policy.options(for: try HTTPURL("https://c.example/"), showsCertificate: true, evaluator: nil)
        #expect(other.pins.isEmpty && other.verifiesName && other.clientCertificate == "/c" && other.caFile == "/ca")
    }

    @Test("A policy that an earlier version wrote is read")
    func earlier() throws {
        let text = #"{"caFile":"/ca","pins":{"a.example":["\#(Self.pin)"]},"isInsecure":false}"#
        let policy = try JSONDecoder().decode(ServerTrustPolicy.self, from: Data(text.utf8))
        #expect(policy == ServerTrustPolicy(caFile: "/ca", pins: ["a.example": [Self.pin]]))
        let whole = ServerTrustPolicy(validatesHostName: false, clientCertificate: "/c", hosts: ["a": policy])
        #expect(try JSONDecoder().decode(ServerTrustPolicy.self, from: JSONEncoder().encode(whole)) == whole)
    }

    // MARK: - Tasks

    @Test("An http: URL of a host that has pins is refused, also as the end of a redirect, and nothing is sent to it")
    func plain() async throws {
        let pinned = try LiveServer { _ in .respond(text: "x") }
        defer { pinned.stop() }
        let end = "http://pinned.test:\(pinned.port)/x?secret"
        let first = try LiveServer { _ in .respond(302, ["Location: \(end)"]) }
        defer { first.stop() }
        let resolver = ScriptedResolver(["pinned.test": [Self.loopback], "free.test": [Self.loopback]])
        let policies = [
            ServerTrustPolicy(pins: ["Pinned.test": [Self.pin]]),
            ServerTrustPolicy(hosts: ["pinned.test": ServerTrustPolicy(pins: ["*": [Self.pin]])]),
        ]
        let problem = "pinned.test has pins, and an http: URL shows no certificate; use https:, or remove its pins"
        for policy in policies {
            let fixture = try SessionFixture(.with { $0.tls = policy }, resolver: resolver)
            for (url, failure) in [
                (end, TaskFailure.invalidRequest), ("http://free.test:\(first.port)/", .redirectRefused),
            ] {
                var request = try TaskRequest(url: url)
                request.options.redirects = .free
                let result = await fixture.run(request).result()
                #expect(result.failure == failure, "\(result)")
                #expect(result.explanation?.contains(problem) == true, "\(result)")
                #expect(result.explanation?.contains("secret") == false)
            }
            // A policy of the task's own, without pins, says otherwise.
            var request = try TaskRequest(url: end)
            request.options.tls = ServerTrustPolicy()
            #expect(await fixture.run(request).result().outcome == .success)
            await fixture.session.invalidate(cancellingTasks: true)
        }
        #expect(pinned.requests.count == policies.count && pinned.accepted == policies.count)
        #expect(ServerTrustPolicy(pins: ["*": [Self.pin]]).refusal(of: try HTTPURL("http://any.test/")) != nil)
        #expect(ServerTrustPolicy(pins: ["*": [Self.pin]]).refusal(of: try HTTPURL("https://any.test/")) == nil)
    }

    private static func request(_ server: TestTLSServer) throws -> TaskRequest {
        try TaskRequest(url: "https://localhost:\(server.port)/")
    }

    @Test("What is not trusted is not tried again, and says which rule it was")
    func noRetry() async throws {
        let authority = try await TestAuthority()
        let server = try await TestTLSServer(
            try await authority.sign(["localhost"]),
            arguments: ["-Verify", "1", "-verify_return_error", "-CAfile", authority.certificate])
        let fixture = try SessionFixture(
            .with { $0.retry = RetryPolicy(attempts: 3) }, resolver: ScriptedResolver(["localhost": [Self.loopback]]))
        let policies: [(ServerTrustPolicy, TaskFailure, FaultParty)] = [
            (.init(), .tlsFailed, .theirs),
            (.init(caFile: authority.certificate, pins: ["*": [Self.pin]]), .tlsPinMismatch, .theirs),
            (.init(caFile: authority.certificate), .tlsFailed, .mine),
            (.init(caFile: "/nowhere/ca.pem"), .fileError, .mine),
            (.init(caFile: authority.certificate, clientCertificate: "/nowhere/c.pem"), .fileError, .mine),
        ]
        for (policy, failure, party) in policies {
            var request = try Self.request(server)
            request.options.tls = policy
            let result = await fixture.run(request).result()
            #expect(result.failure == failure && result.attempts == 1, "\(result)")
            #expect(result.attribution?.party == party, "\(result)")
        }
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("A hook may take its time: nothing is sent before it has answered, and its verdict holds for the task")
    func asked() async throws {
        let authority = try await TestAuthority()
        let server = try await TestTLSServer(try await authority.selfSigned("other.example"))
        let asked = Mutex<[ServerTrust]>([])
        let hooks = SessionHooks(askServerTrust: { task, trust in
            asked.withLock { $0.append(trust) }
            await Task.yield()
            return task.request.options.name == "trusted" ? .trusted : .refused("it is not ours")
        })
        let fixture = try SessionFixture(
            resolver: ScriptedResolver(["localhost": [Self.loopback]]), hooks: hooks)
        var request = try Self.request(server)
        request.options.name = "trusted"
        let trusted = fixture.run(request)
        #expect(await trusted.result().outcome == .success)
        request.options.name = "refused"
        let refused = await fixture.run(request).result()
        #expect(refused.failure == .tlsFailed)
        #expect(refused.explanation?.contains("the app does not trust localhost: it is not ours") == true)
        #expect(asked.withLock { $0.map(\.host) } == ["localhost", "localhost"])
        #expect(asked.withLock { $0.first?.problem } == "the certificate is self-signed (CN = other.example)")
        await fixture.session.invalidate(cancellingTasks: true)
    }

    // MARK: - A hook that replaces the verification

    /// Starts a server whose certificate the authority has signed, and another one with a certificate of its own.
    private static func servers(
        _ authority: TestAuthority
    ) async throws -> (plain: LiveServer, verified: TLSFront, selfSigned: TLSFront) {
        let plain = try LiveServer { .respond(text: $0.path) }
        return (
            plain, try await TLSFront(try await authority.sign(["localhost"]), to: plain.port),
            try await TLSFront(try await authority.selfSigned("other.example"), to: plain.port)
        )
    }

    private static func fixture(_ authority: TestAuthority, _ hooks: SessionHooks) throws -> SessionFixture {
        try SessionFixture(
            .with {
                $0.tls = ServerTrustPolicy(caFile: authority.certificate)
                $0.retry = RetryPolicy(attempts: 3)
            }, resolver: ScriptedResolver(["localhost": [Self.loopback]]), hooks: hooks)
    }

    @Test("A hook accepts what the verification refuses, and refuses what it accepts; nothing is sent to the latter")
    func evaluated() async throws {
        let authority = try await TestAuthority()
        let servers = try await Self.servers(authority)
        defer { servers.plain.stop() }
        let asked = Mutex<[ServerTrust]>([])
        let hooks = SessionHooks(evaluateServerTrust: { trust in
            asked.withLock { $0.append(trust) }
            return trust.problem == nil ? .refused("it is not ours") : .trusted
        })
        for isReplaced in [false, true] {
            let fixture = try Self.fixture(authority, isReplaced ? hooks : SessionHooks())
            let first = await fixture.run(try TaskRequest(url: "https://localhost:\(servers.selfSigned.port)/own"))
                .result()
            let second = await fixture.run(try TaskRequest(url: "https://localhost:\(servers.verified.port)/ca"))
                .result()
            let (good, refused) = isReplaced ? (first, second) : (second, first)
            #expect(good.outcome == .success)
            #expect(refused.failure == .tlsFailed && refused.attempts == 1)
            #expect(refused.attribution?.party == .theirs)
            #expect(servers.plain.requests.last?.path == (isReplaced ? "/own" : "/ca"))
            if isReplaced {
                let url = "https://localhost:\(servers.verified.port)/ca"
                #expect(refused.explanation == "\(url): the app does not trust localhost: it is not ours")
            } else {
                #expect(refused.explanation?.contains("the certificate is self-signed (CN = other.example)") == true)
            }
            await fixture.session.invalidate(cancellingTasks: true)
        }
        #expect(servers.plain.requests.count == 2)
        let trusts = asked.withLock { $0 }
        #expect(trusts.map(\.problem) == ["the certificate is self-signed (CN = other.example)", nil])
        #expect(trusts.map(\.certificates.count) == [1, 2] && trusts.allSatisfy { $0.host == "localhost" })
    }

    @Test("A hook is called once for a connection, and once for each later request on it")
    func calls() async throws {
        let authority = try await TestAuthority()
        let servers = try await Self.servers(authority)
        defer { servers.plain.stop() }
        let asked = Mutex<[ServerTrust]>([])
        let fixture = try Self.fixture(
            authority,
            SessionHooks(evaluateServerTrust: { trust in
                asked.withLock { $0.append(trust) }
                return .trusted
            }))
        for number in 1...3 {
            let url = "https://localhost:\(servers.selfSigned.port)/"
            #expect(await fixture.run(try TaskRequest(url: url)).result().outcome == .success)
            #expect(asked.withLock { $0.count } == number)
        }
        #expect(servers.plain.accepted == 1)
        #expect(Set(asked.withLock { $0 }).count == 1, "the same values, so that the verdict can be kept")
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("A hook that may take its time and never answers ends with the deadline, and its Swift task is cancelled")
    func neverAnswers() async throws {
        let authority = try await TestAuthority()
        let servers = try await Self.servers(authority)
        defer { servers.plain.stop() }
        let cancelled = Latch()
        let fixture = try Self.fixture(
            authority,
            SessionHooks(askServerTrust: { _, _ in
                try? await Task.sleep(for: .seconds(3600))
                if Task.isCancelled { cancelled.open() }
                return .trusted
            }))
        var request = try TaskRequest(url: "https://localhost:\(servers.selfSigned.port)/")
        request.options.connectTimeout = .seconds(1)
        request.options.deadline = .seconds(3)
        let result = await fixture.run(request).result()
        #expect(result.failure == .deadlineExceeded, "\(result)")
        #expect(result.duration >= .seconds(3))
        #expect(await fixture.wait { cancelled.isOpen })
        #expect(servers.plain.requests.isEmpty)
        await fixture.session.invalidate(cancellingTasks: true)
    }
}
