import Foundation
import Testing
import TidegateTestKit

/// A network that asks people to sign in while something is downloaded over it.
@Suite(.enabled(if: NetworkNamespace.isAvailable, "needs root and ip(8)"), .timeLimit(.minutes(5)))
struct PortalDownloadTests {
    /// Serves 200,000 bytes at /blob and the internet check at /204, and prints each request to the body.
    ///
    /// A portal answers for 4 s after the first half of the body, or from the first request on if it is `early`.
    private static let server = """
        import http.server, sys, time
        end, early = [0], sys.argv[1] == "early"
        body = bytes(range(250)) * 800

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def say(self, status, body=b"", *fields):
                self.send_response(status)
                for name, value in (*fields, ("Content-Length", len(body))):
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

            def do_GET(self):
                global early
                start = self.headers.get("Range")
                if self.path == "/blob":
                    print("blob", start, flush=True)
                    if early:
                        early, end[0] = False, time.monotonic() + 4
                if time.monotonic() < end[0]:
                    if self.path == "/login":
                        return self.say(200, b"<html>sign in</html>")
                    return self.say(302, b"", ("Location", "http://\(TwoHosts.peer)/login"))
                if self.path != "/blob":
                    return self.say(204)
                if start:
                    first = int(start[6:].split("-")[0])
                    of = "bytes %d-%d/%d" % (first, len(body) - 1, len(body))
                    return self.say(206, body[first:], ("ETag", '"e"'), ("Content-Range", of))
                if end[0]:
                    return self.say(200, body, ("ETag", '"e"'))
                end[0] = time.monotonic() + 4
                self.send_response(200)
                self.send_header("ETag", '"e"')
                self.send_header("Content-Length", len(body))
                self.end_headers()
                self.wfile.write(body[:100000])
                self.wfile.flush()
                self.close_connection = True

            def log_message(self, *arguments):
                pass

        server = http.server.ThreadingHTTPServer(("\(TwoHosts.peer)", 80), Handler)
        print("ready", flush=True)
        server.serve_forever()
        """

    @Test(
        "A portal that answers in the middle of a download, or from its start, does not become its file",
        arguments: ["midway", "early"])
    func portal(moment: String) async throws {
        let (bench, hosts) = (try EndToEndFixture(), try TwoHosts())
        defer { bench.end() }
        try bench.write(Self.server, to: "server.py")
        let server = try await bench.start(
            hosts.onPeer(["python3", bench.path("server.py"), moment]), until: "ready")
        let output = try await Program.run(
            hosts.onThisSide([
                BuiltProduct.path(of: "tidegate"), "fetch", "-q", "--require", "online", "--internet-check",
                "http://\(TwoHosts.peer)/204", "http://\(TwoHosts.peer)/blob", "-o", bench.path("file"),
            ]))
        #expect(output.status == 0, "\(output)")
        let file = try Data(contentsOf: URL(filePath: bench.path("file")))
        // Compared here, because a mismatch would be printed byte by byte.
        let isWhole = file == Data((0..<800).flatMap { _ in UInt8(0)..<250 })
        #expect(isWhole, "\(String(decoding: file.prefix(40), as: UTF8.self))")
        let requests = server.outputSoFar.split(separator: "\n").dropFirst()
        #expect(requests == (moment == "early" ? ["blob None", "blob None"] : ["blob None", "blob bytes=100000-"]))
    }
}
