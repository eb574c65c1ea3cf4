import NIOHTTP1
import Testing

@testable import TidegateServer

@Suite struct HostCheckTests {
    @Test(
        "On a loopback address, addresses, localhost and allowed names are answered for",
        arguments: [
            ("127.0.0.1", true), ("127.0.0.1:9843", true), ("[::1]:9843", true), ("[::1]", true), ("10.0.0.1", true),
            ("localhost", true), ("LocalHost.:9843", true), ("metrics.example", true), ("Metrics.Example.:80", true),
            ("evil.example", false), ("evil.example:9843", false), ("localhost.evil.example", false),
            ("127.0.0.1.evil.example", false), ("", false), (":9843", false), ("[evil]", false),
        ])
    func loopback(_ host: String, _ isAdmitted: Bool) {
        for listen in ["127.0.0.1", "127.0.0.2", "::1", "localhost"] {
            let check = HostCheck(listen: ListenAddress(host: listen, port: 1), allowed: ["metrics.example"])
            #expect(check.admits(host) == isAdmitted)
        }
    }

    @Test("On other addresses every name is answered for, until there are allowed ones")
    func others() {
        for listen in ["0.0.0.0", "::", "192.0.2.1", "example.com"] {
            let address = ListenAddress(host: listen, port: 1)
            #expect(HostCheck(listen: address, allowed: []).admits("evil.example"))
            #expect(!HostCheck(listen: address, allowed: ["a.example"]).admits("evil.example"))
            #expect(HostCheck(listen: address, allowed: ["a.example"]).admits("a.example"))
            #expect(HostCheck(listen: address, allowed: ["Bücher.example"]).admits("xn--bcher-kva.example:80"))
        }
    }

    @Test(
        "Every spelling of Connection: close and HTTP/1.0 end the connection",
        arguments: [
            (HTTPVersion.http1_1, "close", true), (.http1_1, "Close", true), (.http1_1, "keep-alive, CLOSE", true),
            (.http1_1, "keep-alive", false), (.http1_1, "closed", false), (.http1_0, "", true),
            (.http1_0, "keep-alive", true), (.http1_1, "", false),
        ])
    func connection(_ version: HTTPVersion, _ value: String, _ closes: Bool) {
        var head = HTTPRequestHead(version: version, method: .GET, uri: "/")
        if !value.isEmpty { head.headers.add(name: "connection", value: value) }
        let normalized = RequestHandler.normalized(head)
        #expect((normalized.headers["Connection"] == ["close"]) == closes)
    }

    @Test("Only one Host field counts", arguments: [(0, 0), (1, 1), (2, 0), (3, 0)])
    func fields(_ count: Int, _ left: Int) {
        var head = HTTPRequestHead(version: .http1_1, method: .GET, uri: "/")
        for _ in 0..<count { head.headers.add(name: "host", value: "localhost") }
        #expect(RequestHandler.normalized(head).headers["Host"].count == left)
    }
}
