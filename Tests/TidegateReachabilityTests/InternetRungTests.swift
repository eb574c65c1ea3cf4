internal import Synchronization
internal import Testing
@testable internal import TidegateCore

@testable internal import TidegateReachability

/// What answers of check URLs say, one by one and together.
struct InternetRungTests {
    private static func url(_ text: String, body: String? = nil) throws -> InternetCheckURL {
        try InternetCheckURL(text, expectedBody: body)
    }

    private static func answer(_ status: Int, location: String? = nil, body: String = "") -> HTTPCheck.Result {
        HTTPCheck.Result(reached: .response, status: status, location: location, body: Array(body.utf8))
    }

    @Test("A check URL without an address in a family says nothing about that family")
    func absent() throws {
        let absent = ConnectivityEvaluator.absent(try Self.url("http://a.test/204"), from: .ipv6)
        let report = InternetRung.report([absent])
        #expect(report.status == .unknown && report.evidence.first == "a.test: it has no IPv6 address")
        let good = ConnectivityEvaluator.observation(try Self.url("https://b.test/"), Self.answer(200))
        #expect(ConnectivityEvaluator.connectivity([absent, good]) == .full)
    }

    private static let silence = HTTPCheck.Result(reached: nil, failure: .timedOut, text: "no answer within 10 s")

    @Test(
        "One answer",
        arguments: [
            ("http://a.test/204", nil, answer(204), InternetObservation.Finding.good),
            ("http://a.test/204", nil, answer(200), .good),
            ("http://a.test/", nil, answer(200, body: "<html>A page"), .unexpected),
            (
                "http://a.test/204", nil, answer(302, location: "http://portal.test/login"),
                .portal(location: "http://portal.test/login")
            ),
            ("http://a.test/204", nil, answer(302, location: "https://a.test/204"), .unexpected),
            ("http://a.test/204", nil, answer(302, location: "/elsewhere"), .unexpected),
            ("http://a.test/204", nil, answer(511), .portal(location: nil)),
            ("http://a.test/204", nil, answer(503), .unexpected),
            ("http://a.test/ok", "fine", answer(200, body: "fine weather"), .good),
            ("http://a.test/ok", "fine", answer(200, body: "<html>"), .portal(location: nil)),
            ("http://a.test/ok", "fine", answer(204), .portal(location: nil)),
            ("https://a.test/", nil, answer(200, body: "<html>"), .good),
            ("https://a.test/", nil, answer(301, location: "https://b.test/"), .unexpected),
            ("https://a.test/", nil, silence, .silent),
        ] as [(String, String?, HTTPCheck.Result, InternetObservation.Finding)])
    func one(_ text: String, _ body: String?, _ answer: HTTPCheck.Result, _ finding: InternetObservation.Finding) throws
    {
        #expect(ConnectivityEvaluator.observation(try Self.url(text, body: body), answer).finding == finding)
    }

    @Test("A check URL that answers with a page is no portal, and the report names the expected answer")
    func page() throws {
        let page = ConnectivityEvaluator.observation(try Self.url("http://a.test/"), Self.answer(200, body: "<html>"))
        let report = InternetRung.report([page])
        #expect(report.status == .bad && report.reason == .limited)
        let text = "http://a.test/ answered 200; a check URL over http has to answer 204, or 200 without a body"
        #expect(report.evidence == [text])
    }

    private typealias Finding = InternetObservation.Finding

    private static func observed(_ findings: [(String, InternetObservation.Finding)]) throws -> [InternetObservation] {
        try findings.map { InternetObservation(url: try self.url("\($0.0)://a.test/"), finding: $0.1, evidence: "x") }
    }

    @Test(
        "All answers together",
        arguments: [
            ([], Connectivity.unknown),
            ([("http", .good)], .full),
            ([("http", .good), ("https", .good)], .full),
            ([("http", .silent), ("http", .good)], .full),
            ([("http", .good), ("https", .silent)], .limited),
            ([("http", .silent), ("https", .good)], .limited),
            ([("http", .portal(location: "http://p/")), ("https", .silent)], .portal(location: "http://p/")),
            ([("http", .unexpected), ("https", .silent)], .limited),
            ([("http", .silent), ("https", .silent)], .none),
        ] as [([(String, InternetObservation.Finding)], Connectivity)])
    func together(_ findings: [(String, InternetObservation.Finding)], _ connectivity: Connectivity) throws {
        #expect(ConnectivityEvaluator.connectivity(try Self.observed(findings)) == connectivity)
    }

    @Test("The silence of one server says nothing where another one answers well")
    func decisive() throws {
        func seen(_ hosts: [(String, Finding)]) throws -> [InternetObservation] {
            try hosts.map { InternetObservation(url: try Self.url($0.0), finding: $0.1, evidence: "x") }
        }
        let one = try seen([("http://a.test/", .silent), ("https://b.test/", .good)])
        #expect(ConnectivityEvaluator.connectivity(ConnectivityEvaluator.decisive(one)) == .full)
        for others in [
            [("http://a.test/", .silent), ("http://c.test/", .silent), ("https://b.test/", .good)],
            [("http://a.test/", .silent), ("https://b.test/", .unexpected)], [("http://a.test/", .silent)],
            [("https://a.test/", .silent), ("http://b.test/", .good)],
        ] as [[(String, Finding)]] {
            #expect(ConnectivityEvaluator.decisive(try seen(others)).count == others.count)
        }
    }

    @Test("A check URL that is silent is not waited for once one of its scheme has answered")
    func silentURL() async throws {
        let urls = try ["http://192.0.2.1/204", "http://192.0.2.2/204"].map { try InternetCheckURL($0) }
        let web = OneSilentChecker(silent: try address("192.0.2.1"))
        let checker = ConnectivityChecker(urls: urls, web: web, limit: .seconds(60))
        #expect(await checker.connectivity(.ipv4) { _ in nil } == .full)
        let isCancelled = web.isCancelled.load(ordering: .relaxed)
        #expect(isCancelled)
    }

    @Test("Check URLs that answer something else say nothing of the internet")
    func wrongURL() async throws {
        let web = ScriptedHTTPChecker { _ in HTTPCheck.Result(reached: .body, status: 404) }
        let checker = ConnectivityChecker(
            urls: [try InternetCheckURL("http://192.0.2.1/")], web: web, limit: .seconds(2))
        #expect(await checker.connectivity(.ipv4) { _ in nil } == .unknown)
    }

    @Test("The rung names the portal and its location, and says why it is not checked")
    func rung() throws {
        let portal = InternetRung.report(try Self.observed([("http", .portal(location: "http://p/login"))]))
        #expect(portal.status == .bad && portal.reason == .portal)
        #expect(portal.evidence.first == "a captive portal answers: it redirects to http://p/login")
        #expect(InternetRung.report(try Self.observed([("http", .good), ("https", .silent)])).reason == .limited)
        #expect(InternetRung.report(try Self.observed([("http", .good)])).status == .ok)
        let unasked = InternetRung.report(nil)
        #expect(unasked.status == .unknown && unasked.evidence == ["no internet check is configured"])
    }

    @Test("A request that succeeded a moment ago stands in for a check")
    func passive() throws {
        let passive = PassiveFindings(
            answered: .seconds(4), remote: try address("8.8.8.8"), internet: .seconds(4))
        let report = InternetRung.report(nil, passive: passive)
        #expect(report.status == .ok && report.evidence == ["a request to 8.8.8.8 succeeded 4 s ago"])
    }

    @Test("A policy without URLs or with too little rest is refused, and a bad URL cannot be made")
    func policy() throws {
        #expect(throws: ConfigurationValueError.self) { try InternetCheckPolicy(urls: []).validate() }
        #expect(throws: ConfigurationValueError.self) { try InternetCheckURL("ftp://a.test/") }
        #expect(throws: ConfigurationValueError.self) {
            try InternetCheckPolicy(urls: [try InternetCheckURL("http://a.test")], interval: .seconds(1)).validate()
        }
        let policy = InternetCheckPolicy(urls: [try InternetCheckURL("HTTP://A.test")])
        #expect(policy.urls.map(\.text) == ["http://a.test/"] && policy.interval == .seconds(300))
        #expect(!InternetCheckPolicy.off.isEnabled && InternetCheckPolicy.off.urls.isEmpty)
    }
}

/// A checker for which one address never answers.
private final class OneSilentChecker: HTTPChecker {
    let isCancelled = Atomic<Bool>(false)
    private let silent: IPAddress

    init(silent: IPAddress) { self.silent = silent }

    func check(_ question: HTTPCheck.Request, onWire: @escaping @Sendable () -> Void) async -> HTTPCheck.Result {
        guard question.address == self.silent else { return HTTPCheck.Result(reached: .response, status: 204) }
        do {
            try await Task.sleep(for: question.limit)
        } catch {
            self.isCancelled.store(true, ordering: .relaxed)
        }
        return HTTPCheck.Result(reached: nil, failure: .timedOut)
    }
}
