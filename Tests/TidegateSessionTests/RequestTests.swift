import HTTPTypes
import Testing
import TidegateCore
import TidegateSessionTestKit

@testable import TidegateSession

@Suite
struct RequestTests {
    @Test(
        "A URL is requested without user information and fragment, and told without its query",
        arguments: [
            ("http://h.test", "http://h.test/", "http://h.test/"),
            ("HTTP://H.Test:80/a?b=c#d", "http://h.test/a?b=c", "http://h.test/a"),
            ("https://u:p@h.test:8443/", "https://h.test:8443/", "https://h.test:8443/"),
            ("http://[::1]:8080/x", "http://[::1]:8080/x", "http://[::1]:8080/x"),
            ("http://[::1]/x", "http://[::1]/x", "http://[::1]/x"),
            ("http://h.test?q", "http://h.test/?q", "http://h.test/"),
            ("http://h.test/ä", "http://h.test/%C3%A4", "http://h.test/%C3%A4"),
        ])
    func urls(_ row: (String, String, String)) throws {
        let url = try HTTPURL(row.0)
        #expect(url.text == row.1)
        #expect(url.textWithoutQuery == row.2)
    }

    @Test(
        "What cannot be asked for is refused with a sentence that quotes it",
        arguments: [
            "", "h.test", "ftp://h.test/", "http://", "http:///x", "http://h.test:99999/", "http://-/", "file:///x",
        ])
    func badURLs(_ text: String) {
        let error = #expect(throws: TaskError.self) { try TaskRequest(url: text) }
        #expect(error?.reason == .invalidRequest)
        #expect(error?.underlying.contains(text) == true)
    }

    @Test("Nothing can be smuggled into a request's head")
    func smuggling() {
        #expect(throws: TaskError.self) { try TaskRequest(url: "http://h.test/\r\nX: y") }
        #expect(throws: TaskError.self) { try TaskRequest(url: "http://h.test/a b") }
        #expect(throws: TaskError.self) { try TaskRequest(url: "http://h.test/", method: "GET /x") }
        #expect(throws: HTTPFieldError.value(ofField: "A")) { try HTTPField("A", "b\r\nC: d") }
        #expect(throws: HTTPFieldError.name("A b")) { try HTTPField("A b", "c") }
        for name in ["Content-Length", "content-length", "Transfer-Encoding"] {
            #expect(throws: TaskError.self) {
                try TaskRequest(
                    url: "http://h.test/", method: "POST", headers: [.init(name, "1")], body: .data([1, 2]))
            }
        }
    }

    @Test("The kind follows from the bodies, idempotence from the method or a key")
    func kinds() throws {
        var request = try TaskRequest(url: "http://h.test/")
        #expect(request.kind == .data)
        request.destination = .file("/x")
        #expect(request.kind == .download)
        let post = try TaskRequest(url: "http://h.test/", method: "POST", body: .data([1]))
        #expect(post.kind == .upload)
        #expect(!post.isIdempotent)
        let keyed = try TaskRequest(url: "http://h.test/", method: "POST", headers: [.init("idempotency-key", "k")])
        #expect(keyed.isIdempotent)
        #expect(try TaskRequest(url: "http://h.test/", method: "DELETE").isIdempotent)
    }

    @Test(
        "A Location is read as RFC 3986 says",
        arguments: [
            ("http://b.test/x", "http://b.test/x"), ("//b.test/x", "http://b.test/x"), ("/x", "http://a.test/x"),
            ("y", "http://a.test/p/y"), ("../y", "http://a.test/y"), ("./y?z", "http://a.test/p/y?z"),
            ("?z", "http://a.test/p/q?z"), ("/x?u=http://c", "http://a.test/x?u=http://c"), ("..", "http://a.test/"),
            ("#f", "http://a.test/p/q?r"),
        ])
    func locations(_ row: (String, String)) throws {
        #expect(try HTTPURL("http://a.test/p/q?r").resolving(row.0).text == row.1)
    }

    @Test(
        "Redirects change the method and drop credentials as they must",
        arguments: [
            (301, "POST", "GET"), (302, "POST", "GET"), (303, "POST", "GET"), (303, "PUT", "GET"),
            (307, "POST", "POST"),
            (308, "POST", "POST"), (301, "PUT", "PUT"), (301, "HEAD", "HEAD"), (302, "GET", "GET"),
        ])
    func redirects(_ row: (Int, String, String)) throws {
        let first = Hop(
            method: row.1, url: try HTTPURL("http://a.test/"), keepsBody: true, keepsCredentials: true)
        func follow(_ location: String, from hop: Hop) throws -> Hop {
            try RedirectRule(policy: .noDowngrade, reach: .otherHosts).follow(
                row.0, to: location, from: hop, answeredBy: nil)
        }
        let same = try follow("/b", from: first)
        #expect(same.method == row.2)
        #expect(same.keepsBody == (row.1 == row.2))
        #expect(same.keepsCredentials)
        let other = try follow("http://b.test/", from: first)
        #expect(!other.keepsCredentials)
        #expect(try !follow("http://a.test/", from: other).keepsCredentials)
        #expect(try !follow("https://a.test/", from: first).keepsCredentials)
    }

    @Test("A value outside its range is refused where it is used, and the error names the property")
    func policies() async throws {
        func property(_ change: (inout SessionConfiguration) -> Void) -> String? {
            var configuration = SessionConfiguration()
            change(&configuration)
            do throws(ConfigurationValueError) {
                try configuration.validate()
                return nil
            } catch {
                return error.property
            }
        }
        #expect(property { $0.proxy = ProxyPolicy("http://p") } == "proxy")
        #expect(property { $0.proxy = ProxyPolicy("http://p:80/") } == nil)
        #expect(property { $0.proxy = ProxyPolicy("x") } == "proxy")
        #expect(property { $0.retry.attempts = 0 } == "retry.attempts")
        #expect(property { $0.retry.base = .zero } == "retry.base")
        #expect(property { $0.retry.cap = .milliseconds(1) } == "retry.cap")
        #expect(property { $0.retry.maxElapsed = .zero } == "retry.maxElapsed")
        #expect(property { $0.retry.statuses = [200] } == "retry.statuses")
        #expect(property { $0.budget.tokens = -1 } == "budget.tokens")
        #expect(property { $0.circuit.failures = 0 } == "circuit.failures")
        #expect(property { $0.gate.patience = .seconds(-1) } == "gate.patience")
        #expect(property { $0.tls.pins = ["h": ["x"]] } == "tls.pins")
        #expect(property { $0.maxConnections = 0 } == "maxConnections")
        #expect(property { $0.lossGrace = .seconds(31) } == "lossGrace")
        #expect(property { $0.endedTasksKept = -1 } == "endedTasksKept")
        #expect(throws: ConfigurationValueError.self) { try SessionFixture(.with { $0.maxConnections = 0 }) }
    }

    @Test("A task whose own policy is outside its range fails on resume")
    func requestPolicies() async throws {
        let fixture = try SessionFixture()
        var request = try TaskRequest(url: "http://127.0.0.1:9/")
        request.options.retry = RetryPolicy(attempts: 0)
        let result = await fixture.run(request).result()
        #expect(result.failure == .invalidRequest)
        #expect(result.explanation == "retry.attempts: 0 is not 1 to 10000")
        #expect(result.attempts == 0)
        await fixture.session.invalidate(cancellingTasks: true)
    }
}
