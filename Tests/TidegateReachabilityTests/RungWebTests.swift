internal import Testing
@testable internal import TidegateCore

@testable internal import TidegateReachability

/// What the check of a server means for the rungs tcp, tls and http.
struct RungWebTests {
    private static let own = IPAddress(ipv4: 0x0A00_0002)
    private static let gateway = IPAddress(ipv4: 0x0A00_0001)
    private static let path = NetworkPath(interface: "eth0", index: 77, gateway: gateway, source: own)

    private static func failed(
        _ error: SocketError?, _ refusal: ICMPError? = nil, _ failure: TaskFailure = .connectFailed
    ) -> HTTPCheck.Result {
        HTTPCheck.Result(reached: nil, failure: failure, socketError: error, refusal: refusal)
    }

    private func reports(_ text: String, _ answer: HTTPCheck.Result?) throws -> [RungReport] {
        let server = try address("198.51.100.2")
        return WebRungs.reports(try ExplainTarget(text), answer, at: server, path: Self.path)
    }

    @Test(
        "No connection",
        arguments: [
            (failed(.refused), UnreachableReason.refused), (failed(.reset), .refused),
            (failed(.networkUnreachable), .hostUnreachable), (failed(.hostUnreachable), .hostUnreachable),
            (failed(.timedOut), .timeout), (failed(nil, nil, .timedOut), .timeout), (failed(nil), .hostUnreachable),
            (failed(.addressNotAvailable), .noSourceAddress), (failed(.prohibited), .prohibited),
            (failed(.blackholed), .blackholed),
        ] as [(HTTPCheck.Result, UnreachableReason)])
    func connections(_ answer: HTTPCheck.Result, _ reason: UnreachableReason) throws {
        let rungs = try self.reports("https://api.test/", answer)
        #expect(rungs.map(\.rung) == [.tcp, .tls, .http])
        #expect(rungs.map(\.status) == [.bad, .unknown, .unknown])
        #expect(rungs[0].reason == reason)
    }

    @Test("Of several addresses the one that came furthest stands for the family, and the first of equals")
    func furthest() throws {
        let (one, two) = (try address("198.51.100.2"), try address("198.51.100.3"))
        let three = try address("198.51.100.4")
        let silent = HTTPCheck.Result(reached: nil, failure: .timedOut)
        let busy = HTTPCheck.Result(reached: .response, status: 503)
        let good = HTTPCheck.Result(reached: .response, status: 200)
        func best(_ answers: [IPAddress: HTTPCheck.Result]) -> IPAddress? {
            WebRungs.furthest([one, two, three], answers, .body)
        }
        #expect(best([one: silent, two: good, three: good]) == two)
        #expect(best([one: busy, two: silent, three: good]) == three)
        #expect(best([one: silent, two: busy]) == two)
        #expect(best([one: silent, two: silent]) == one)
        #expect(best([:]) == nil)
    }

    @Test("An ICMP error is shown with its sender")
    func offender() throws {
        let refusal = ICMPError(offender: Self.gateway, type: 3, code: 0)
        let rungs = try self.reports("api.test:80", Self.failed(.networkUnreachable, refusal))
        #expect(rungs[0].evidence.last == "10.0.0.1 (the gateway) says: no route (ICMP 3/0)")
        let own = ICMPError(offender: Self.own, type: 3, code: 1)
        #expect(
            try self.reports("api.test:80", Self.failed(.hostUnreachable, own))[0].evidence.last
                == "10.0.0.2 (this host) says: host unreachable (ICMP 3/1)")
    }

    @Test(
        "Beyond the connection",
        arguments: [
            (
                HTTPCheck.Result(reached: .connect, failure: .tlsFailed, text: "certificate has expired"),
                [nil, .tlsFailed, nil]
            ),
            (HTTPCheck.Result(reached: .connect, failure: .timedOut), [nil, .timeout, nil]),
            (HTTPCheck.Result(reached: .tls, failure: .timedOut), [nil, nil, .timeout]),
            (HTTPCheck.Result(reached: .tls, failure: .protocolError), [nil, nil, .httpError]),
            (HTTPCheck.Result(reached: .response, status: 503), [nil, nil, .httpError]),
            (HTTPCheck.Result(reached: .response, status: 404), [nil, nil, .httpError]),
            (HTTPCheck.Result(reached: .response, status: 302, location: "/x"), [nil, nil, nil]),
            (HTTPCheck.Result(reached: .response, status: 200), [nil, nil, nil]),
        ] as [(HTTPCheck.Result, [UnreachableReason?])])
    func later(_ answer: HTTPCheck.Result, _ reasons: [UnreachableReason?]) throws {
        let rungs = try self.reports("https://api.test/", answer)
        #expect(rungs.map(\.reason) == reasons, "\(rungs)")
    }

    @Test("A certificate is shown whether it is good or not")
    func certificate() throws {
        let certificate = CertificateSummary(
            subject: "CN=api.test", issuer: "CN=Test CA", notAfter: "Nov 21 12:00:00 2026 GMT", names: ["api.test"])
        let bad = HTTPCheck.Result(
            reached: .connect, failure: .tlsFailed, text: "certificate has expired", certificate: certificate)
        let shown = [
            "certificate of CN=api.test, for api.test", "signed by CN=Test CA", "valid until Nov 21 12:00:00 2026 GMT",
        ]
        #expect(try self.reports("https://api.test/", bad)[1].evidence == ["certificate has expired"] + shown)
        let good = HTTPCheck.Result(reached: .response, status: 200, certificate: certificate)
        #expect(try self.reports("https://api.test/", good)[1].evidence == shown)
    }

    @Test("Only the rungs that the target has are checked")
    func depth() throws {
        let answer = HTTPCheck.Result(reached: .connect)
        #expect(try self.reports("api.test", nil).map(\.status) == [.notApplicable, .notApplicable, .notApplicable])
        #expect(try self.reports("api.test:80", answer).map(\.status) == [.ok, .notApplicable, .notApplicable])
        #expect(
            try self.reports("api.test:443", HTTPCheck.Result(reached: .tls)).map(\.status) == [
                .ok, .ok, .notApplicable,
            ])
        let plain = HTTPCheck.Result(reached: .response, status: 200)
        #expect(try self.reports("http://api.test/", plain).map(\.status) == [.ok, .notApplicable, .ok])
        #expect(try self.reports("https://api.test/", nil).map(\.status) == [.unknown, .unknown, .unknown])
    }

    @Test("A target is a host, a port or a URL, and what is wrong with it is quoted")
    func targets() throws {
        let url = try ExplainTarget("https://user:secret@API.test/x?y=1#z")
        #expect(url.description == "https://api.test/x?y=1" && url.target.description == "api.test:443")
        #expect(url.lastStage == .body && url.usesTLS)
        #expect(try ExplainTarget("http://[2001:db8::1]:8080").url.text == "http://[2001:db8::1]:8080/")
        #expect(try ExplainTarget("api.test").lastStage == nil)
        #expect(try ExplainTarget("api.test:443").lastStage == .tls)
        #expect(try ExplainTarget("api.test:22").lastStage == .connect)
        #expect(throws: TargetError.badPort("99999", of: "api.test:99999")) { try ExplainTarget("api.test:99999") }
        #expect(throws: TargetError.self) { try ExplainTarget("ftp://api.test/") }
    }
}
