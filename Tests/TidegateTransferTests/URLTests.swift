internal import Testing
internal import TidegateCore
internal import TidegateTestKit
internal import TidegateTransfer

@Suite("URLs on their way to the wire")
struct URLTests {
    // One slot serves all of them, one after the other, and keeps what libcurl made of the last URL.
    private static let paths: [(asked: String, sent: String)] = [
        ("/a?x=1&y=http://other.test/", "/a?x=1&y=http://other.test/"),
        ("/a?x=1&y=http://other.test/", "/a?x=1&y=http://other.test/"),
        ("", "/"),
        ("/b/../c/./d", "/c/d"),
        ("/%41%2F?q=%20", "/%41%2F?q=%20"),
        ("?only=query", "/?only=query"),
        ("/e#part", "/e"),
        ("/a", "/a"),
    ]

    @Test("Each request goes to its own URL, whatever its handle was used for before", arguments: ["GET", "PUT"])
    func oneAfterTheOther(method: String) throws {
        let servers = try (0..<2).map { _ in try LiveServer { _ in .respond() } }
        defer { for server in servers { server.stop() } }
        let recorder = try AttemptRecorder()
        var number: UInt64 = 0
        for (asked, sent) in Self.paths {
            for server in servers {
                number += 1
                var request = try AttemptRequest(number, server.url(asked))
                // Every other one tells libcurl everything anew.
                if number % 4 < 2 { request.method = method }
                #expect(try recorder.run(request).failure == nil)
                #expect(server.requests.last?.path == sent)
                #expect(server.requests.last?.field("host") == "127.0.0.1:\(server.port)")
            }
        }
        #expect(servers.map(\.requests.count) == [Self.paths.count, Self.paths.count])
    }

    @Test("A proxy is sent the whole URL of each request")
    func throughProxy() throws {
        let proxy = try LiveServer { _ in .respond() }
        defer { proxy.stop() }
        let recorder = try AttemptRecorder()
        let urls = ["http://one.test/a?b", "http://two.test:8080/c", "http://one.test/a?b"]
        for (number, url) in urls.enumerated() {
            var request = try AttemptRequest(UInt64(number), url)
            request.proxy = try Proxy("http://127.0.0.1:\(proxy.port)")
            #expect(try recorder.run(request).failure == nil)
            #expect(proxy.requests.last?.path == url)
        }
    }

    @Test("A URL that libcurl cannot read is refused before anything starts, and the next one is not harmed")
    func broken() throws {
        let server = try LiveServer { _ in .respond() }
        defer { server.stop() }
        let recorder = try AttemptRecorder()
        // libcurl takes 8,000,000 bytes at most.
        recorder.start(try AttemptRequest(1, server.url("/" + String(repeating: "x", count: 8_000_000))))
        #expect(try recorder.refusal(of: AttemptID(1)).operation == "CURLOPT_URL")
        #expect(try recorder.run(AttemptRequest(2, server.url("/good"))).failure == nil)
        #expect(server.requests.map(\.path) == ["/good"])
    }
}
