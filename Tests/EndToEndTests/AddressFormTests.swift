import Foundation
import Testing
import TidegateTestKit

/// Requests to one server by every form that an address can have.
@Suite(.enabled(if: NetworkNamespace.isAvailable, "needs root and ip(8)"), .timeLimit(.minutes(5)))
struct AddressFormTests {
    private static let server = """
        import http.server, socket
        class Handler(http.server.BaseHTTPRequestHandler):
            def answer(self):
                self.rfile.read(int(self.headers.get("Content-Length", 0)))
                print(self.path, flush=True)
                self.send_response(204)
                self.end_headers()
            do_GET = do_POST = answer
            def log_message(self, *arguments): pass
        class Server(http.server.ThreadingHTTPServer):
            address_family = socket.AF_INET6
            def server_bind(self):
                self.socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
                super().server_bind()
        server = Server(("::", 8080), Handler)
        print("listening", flush=True)
        server.serve_forever()
        """
    private static let gets = 4
    private static let posts = 2

    /// The host of a URL, and whether it is this side's.
    static let forms: [(host: String, isHere: Bool)] = [
        ("127.0.0.1", true), ("[::ffff:127.0.0.1]", true), ("[::ffff:7f00:1]", true), ("[::1]", true),
        ("[0:0:0:0:0:0:0:1]", true), ("localhost", true), ("0.0.0.0", true), ("[::]", true),
        (TwoHosts.peer, false), ("[::ffff:\(TwoHosts.peer)]", false), ("[2001:db8:77::1]", false),
        ("[fe80::77:1%77]", false), ("[fe80::77:1%2577]", false), ("[fe80::77:1%uplink]", false),
        ("[fe80::77:1%25uplink]", false), ("[fe80::77:1%25up%6Cink]", false),
    ]

    @Test("A request is sent once, however the address is written")
    func once() async throws {
        let (bench, hosts) = (try EndToEndFixture(), try TwoHosts())
        defer { bench.end() }
        try hosts.ip("addr add 2001:db8:77::2/64 dev uplink nodad")
        for address in ["2001:db8:77::1/64", "fe80::77:1/64"] {
            try await Program.expect(hosts.onPeer(["ip", "addr", "add", address, "dev", "cable", "nodad"]))
        }
        var servers: [Program] = []
        for side in [hosts.onThisSide, hosts.onPeer] {
            servers.append(try await bench.start(side(["python3", "-c", Self.server]), until: "listening"))
        }
        let tidegate = BuiltProduct.path(of: "tidegate")
        for (number, form) in Self.forms.enumerated() {
            let fetch = "\(tidegate) fetch -q --discard --no-gate --retry 0"
            let url = "http://\(form.host):8080/\(number)"
            let script = """
                for i in $(seq \(Self.gets)); do \(fetch) '\(url)/get' || echo "GET $?"; done
                for i in $(seq \(Self.posts)); do \(fetch) --data x '\(url)/post' || echo "POST $?"; done
                """
            let output = try await Program.run(hosts.onThisSide(["sh", "-c", script]))
            #expect(output.output.isEmpty && output.errors.isEmpty, "\(form.host): \(output)")
            let lines = servers[form.isHere ? 0 : 1].outputSoFar.split(separator: "\n")
            #expect(lines.count { $0 == "/\(number)/get" } == Self.gets, "\(form.host)")
            #expect(lines.count { $0 == "/\(number)/post" } == Self.posts, "\(form.host)")
        }
    }
}
