import HTTPTypes
import Testing
import TidegateCore
import TidegateSessionTestKit

@testable import TidegateSession

/// Where a server may lead a request, and what goes along.
@Suite(.timeLimit(.minutes(5)))
struct RedirectPolicyTests {
    private struct Step: Sendable, CustomTestStringConvertible {
        let from: String
        let to: String
        /// Whether same-origin, no-downgrade and free follow it, in this order.
        let isFollowed: [Bool]
        var testDescription: String { "\(self.from) to \(self.to)" }
    }

    private static let steps = [
        Step(from: "https://a.test/", to: "/x", isFollowed: [true, true, true]),
        Step(from: "https://a.test/", to: "https://a.test:443/x", isFollowed: [true, true, true]),
        Step(from: "https://a.test/", to: "https://b.test/", isFollowed: [false, true, true]),
        Step(from: "https://a.test/", to: "https://a.test:8443/", isFollowed: [false, true, true]),
        Step(from: "http://a.test/", to: "https://a.test/", isFollowed: [false, true, true]),
        Step(from: "http://a.test/", to: "http://b.test/", isFollowed: [false, true, true]),
        Step(from: "https://a.test/", to: "http://a.test/", isFollowed: [false, false, true]),
        Step(from: "http://a.test/", to: "http://127.0.0.1/", isFollowed: [false, false, true]),
        Step(from: "http://a.test/", to: "http://[::ffff:127.0.0.1]/", isFollowed: [false, false, true]),
        Step(from: "http://a.test/", to: "http://[::127.0.0.1]/", isFollowed: [false, false, true]),
        Step(from: "http://a.test/", to: "http://[::1]/", isFollowed: [false, false, true]),
        Step(from: "http://a.test/", to: "http://169.254.169.254/", isFollowed: [false, false, true]),
        Step(from: "http://a.test/", to: "http://100.100.100.200/", isFollowed: [false, false, true]),
        Step(from: "http://a.test/", to: "http://[fd00:ec2::254]/", isFollowed: [false, false, true]),
        Step(from: "http://a.test/", to: "http://[fd20:ce::254]/", isFollowed: [false, false, true]),
        Step(from: "http://a.test/", to: "http://[fd00:42::42]/", isFollowed: [false, false, true]),
        Step(from: "http://a.test/", to: "http://[2002:a9fe:a9fe::1]/", isFollowed: [false, false, true]),
        Step(from: "http://a.test/", to: "http://[64:ff9b::a9fe:a9fe]/", isFollowed: [false, false, true]),
        Step(from: "http://a.test/", to: "http://[64:ff9b::c000:201]/", isFollowed: [false, true, true]),
        Step(from: "http://a.test/", to: "http://[fe80::1%251]/", isFollowed: [false, false, true]),
        Step(from: "http://a.test/", to: "http://0.0.0.0/", isFollowed: [false, false, true]),
        Step(from: "http://a.test/", to: "http://[::]/", isFollowed: [false, false, true]),
        Step(from: "http://a.test/", to: "http://localhost./", isFollowed: [false, false, true]),
        Step(from: "http://a.test/", to: "http://x.localhost/", isFollowed: [false, false, true]),
        Step(from: "http://a.test/", to: "http://10.0.0.1/", isFollowed: [false, true, true]),
        Step(from: "http://127.0.0.1/", to: "http://127.0.0.1:8080/", isFollowed: [false, true, true]),
        Step(from: "http://10.0.0.1/", to: "http://[::1]/", isFollowed: [false, true, true]),
        // What libcurl would take for 127.0.0.1 is no host at all.
        Step(from: "http://a.test/", to: "http://0x7f000001/", isFollowed: [false, false, false]),
        Step(from: "http://a.test/", to: "http://0x7f.1/", isFollowed: [false, false, false]),
    ]

    @Test("A policy says where a redirect may lead", arguments: steps)
    private func rules(_ step: Step) throws {
        let hop = Hop(method: "GET", url: try HTTPURL(step.from))
        let followed = RedirectPolicy.allCases.map { policy in
            let rule = RedirectRule(policy: policy, reach: policy == .free ? .everyHost : .otherHosts)
            let next = try? rule.follow(302, to: step.to, from: hop, answeredBy: nil)
            return next != nil
        }
        #expect(followed == step.isFollowed)
    }

    @Test("Redirects to private addresses can be allowed, and cost no protection of credentials")
    func privateRedirects() async throws {
        let end = try LiveServer { _ in .respond(text: "end") }
        let proxy = try LiveServer { _ in .respond(302, ["Location: http://127.0.0.1:\(end.port)/"]) }
        defer {
            proxy.stop()
            end.stop()
        }
        let fixture = try SessionFixture(
            .with { $0.proxy = ProxyPolicy("http://127.0.0.1:\(proxy.port)", exceptions: ["127.0.0.1"]) })
        var request = try TaskRequest(url: "http://public.test/", headers: [HTTPField(name: .cookie, value: "a=b")])
        let refused = await fixture.run(request).result()
        #expect(refused.failure == .redirectRefused)
        #expect(
            refused.clause
                == """
                the server redirects to http://127.0.0.1:\(end.port)/, a local address; --allow-private-redirects or \
                transfers.allow_private_redirects allows it (through the proxy http://127.0.0.1:\(proxy.port))
                """)
        request.options.allowsPrivateRedirects = true
        #expect(await fixture.run(request).result().outcome == .success)
        #expect(end.requests.map { $0.field("cookie") } == [nil])
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test(
        "Fields of a hook go along as those of the request do: not a body's without the body, not Host elsewhere",
        arguments: RedirectPolicy.allCases)
    func fieldsOfHook(_ policy: RedirectPolicy) throws {
        let body = [
            "Content-Digest", "Content-Disposition", "Content-Encoding", "Content-Language", "Content-Location",
            "Content-Range", "Content-Type", "Digest", "Last-Modified", "Repr-Digest",
        ]
        let hop = Hop(
            method: "POST", url: try HTTPURL("http://a.test/"),
            headers: try (body + ["Host", "Accept", "X-Api-Key"]).map { try HTTPField($0, "v") })
        func names(_ status: Int, _ location: String) throws -> [String]? {
            try RedirectRule(policy: policy, reach: .everyHost).follow(
                status, to: location, from: hop, answeredBy: nil
            ).headers?
            .map(\.name.rawName)
        }
        #expect(try names(307, "/x") == body + ["Host", "Accept", "X-Api-Key"])
        #expect(try names(302, "/x") == ["Host", "Accept", "X-Api-Key"])
        if policy == .sameOrigin {
            #expect(throws: RedirectError.self) { try names(307, "http://b.test/") }
        } else {
            let own = policy == .free ? ["X-Api-Key"] : []
            #expect(try names(307, "http://b.test/") == body + ["Accept"] + own)
            #expect(try names(303, "http://b.test/") == ["Accept"] + own)
        }
    }

    @Test("A redirect that becomes a GET leaves every field behind that describes the body")
    func becomesGet() async throws {
        let server = try LiveServer { request in
            request.path == "/1" ? .respond(303, ["Location: /2"]) : .respond(text: "end")
        }
        defer { server.stop() }
        let fixture = try SessionFixture()
        let names = [
            "Content-Digest", "Content-Disposition", "Content-Location", "Content-Range", "Content-Type", "Digest",
            "Repr-Digest",
        ]
        let request = try TaskRequest(
            url: server.url("/1"), method: "POST", headers: try (names + ["X-Own"]).map { try HTTPField($0, "v") },
            body: .data([1]))
        #expect(await fixture.run(request).result().outcome == .success)
        let (first, last) = (try #require(server.requests.first), try #require(server.requests.last))
        for name in names { #expect(first.field(name) == "v" && last.field(name) == nil, "\(name)") }
        #expect(last.method == "GET" && last.field("x-own") == "v")
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("Another origin gets neither credentials nor fields of the user's own, unless the policy is free")
    func fields() async throws {
        let end = try LiveServer { _ in .respond(text: "end") }
        let start = try LiveServer { _ in .respond(307, ["Location: \(end.url("/3"))"]) }
        defer {
            start.stop()
            end.stop()
        }
        let secrets = ["X-Api-Key", "X-Auth-Token", "Cookie", "Referer", "Traceparent"]
        let plain = [
            "Accept", "Accept-Language", "Accept-Encoding", "User-Agent", "Content-Type", "Idempotency-Key",
            "If-None-Match",
        ]
        let fixture = try SessionFixture()
        for policy in RedirectPolicy.allCases.dropFirst() {
            var request = try TaskRequest(
                url: start.url("/1"), method: "POST",
                headers: try (secrets + plain).map { try HTTPField($0, "v") } + [HTTPField("Host", "inner.test")],
                body: .data([1]))
            request.options.credentials = Credentials(user: "u", password: "p")
            request.options.redirects = policy
            #expect(await fixture.run(request).result().outcome == .success)
            let seen = try #require(end.requests.last)
            for name in secrets { #expect((seen.field(name) != nil) == (policy == .free), "\(name), \(policy)") }
            #expect((seen.field("authorization") != nil) == (policy == .free))
            for name in plain { #expect(seen.field(name) == "v", "\(name), \(policy)") }
            #expect(seen.field("host") == "127.0.0.1:\(end.port)")
        }
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("What the requestHeaders hook adds does not go to another origin either")
    func hook() async throws {
        let end = try LiveServer { _ in .respond(text: "end") }
        let start = try LiveServer { _ in .respond(302, ["Location: \(end.url("/3"))"]) }
        defer {
            start.stop()
            end.stop()
        }
        let hooks = SessionHooks(requestHeaders: { _, given in
            given + [HTTPField(name: .authorization, value: "Bearer t"), HTTPField(name: .accept, value: "a/b")]
        })
        let fixture = try SessionFixture(hooks: hooks)
        #expect(await fixture.run(try TaskRequest(url: start.url("/1"))).result().outcome == .success)
        #expect(start.requests.first?.field("authorization") == "Bearer t")
        #expect(end.requests.first?.field("authorization") == nil)
        #expect(end.requests.first?.field("accept") == "a/b")
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("A refused redirect is a failure of its own, the server's, whose sentence says what to do")
    func refused() async throws {
        let end = try LiveServer { _ in .respond(text: "end") }
        let start = try LiveServer { _ in
            .respond(302, ["Location: http://me:hunter2@127.0.0.1:\(end.port)/3?token=hunter2"])
        }
        defer {
            start.stop()
            end.stop()
        }
        let fixture = try SessionFixture(.with { $0.redirects = .sameOrigin })
        let task = fixture.run(try TaskRequest(url: start.url("/1")))
        let result = await task.result()
        #expect(result.failure == .redirectRefused)
        #expect(result.attribution?.party == .theirs)
        #expect(result.attempts == 1)
        #expect(
            result.clause
                == """
                the server redirects to \(end.url("/3")), another origin, which the policy same-origin refuses; \
                --redirects free or transfers.redirects allows it
                """)
        #expect(end.requests.isEmpty)
        #expect(!"\(fixture.recorder.events)".contains("hunter2"))
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test(
        "A Location that cannot be used is not quoted",
        arguments: [
            "ftp://me:hunter2@127.0.0.1/", "http://me:hunter2@/", "http://me:hunter2@h:99999/", "me:hunter2@h",
            "http://me:hunter2@h\t/", "http://me:hun/ter2:hunter2@h/",
        ])
    func unusable(_ location: String) async throws {
        let server = try LiveServer { _ in .respond(302, ["Location: \(location)"]) }
        defer { server.stop() }
        let fixture = try SessionFixture()
        let result = await fixture.run(try TaskRequest(url: server.url("/1"))).result()
        #expect(result.failure == .protocolError)
        #expect(result.clause?.hasPrefix("the server redirects to ") == true)
        #expect(!"\(result.clause ?? "") \(fixture.recorder.events)".contains("hunter2"))
        await fixture.session.invalidate(cancellingTasks: true)
    }
}
