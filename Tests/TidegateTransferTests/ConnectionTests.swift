internal import Glibc
internal import Synchronization
internal import Testing
internal import TidegateCore
internal import TidegateTestKit
internal import TidegateTransfer

@Suite("Connections")
struct ConnectionTests {
    @Test("A kept connection is used again, and its phases say so")
    func reuse() throws {
        let server = try LiveServer { _ in .respond(text: "x") }
        defer { server.stop() }
        let recorder = try AttemptRecorder()
        let first = try recorder.run(AttemptRequest(1, server.url()))
        let second = try recorder.run(AttemptRequest(2, server.url()))
        #expect(first.connectionsOpened == 1)
        #expect(second.connectionsOpened == 0)
        #expect(second.connection?.isReused == true)
        #expect(second.connection?.remote == IPAddress("127.0.0.1"))
        #expect(second.phases.connect == nil)
        #expect(server.accepted == 1)
        #expect(try recorder.ask { $0.connections.idle } == 1)
        #expect(try recorder.ask { $0.connections.active } == 0)
    }

    @Test("An attempt after one that found no address succeeds on the same handle")
    func noAddress() throws {
        let server = try LiveServer { _ in .respond(text: "x") }
        defer { server.stop() }
        let recorder = try AttemptRecorder()
        // libcurl asks no resolver for such a name (RFC 7686).
        let lost = try recorder.run(AttemptRequest(1, "http://tide.onion/"))
        #expect(lost.failure == .resolveFailed)
        // A request with other options sets all of them.
        for number: UInt64 in 2...4 {
            var request = try AttemptRequest(number, server.url())
            request.connectTimeout = .seconds(Int(number))
            #expect(try recorder.run(request).body == Array("x".utf8))
        }
    }

    @Test("Given addresses are used instead of resolving, and new ones as soon as they are given")
    func pinned() throws {
        let server = try LiveServer(address: "127.0.0.1") { _ in .respond(text: "one") }
        defer { server.stop() }
        let other = try LiveServer(address: "127.0.0.2", port: server.port) { _ in
            .respond(["Connection: close"], "two")
        }
        defer { other.stop() }
        let recorder = try AttemptRecorder()
        var request = try AttemptRequest(1, "http://tide.invalid:\(server.port)/")
        request.addresses = [IPAddress(ipv4: 0x7F00_0001)]
        #expect(try recorder.run(request).body == Array("one".utf8))
        recorder.perform { $0.beginPool() }
        request.id = AttemptID(2)
        request.addresses = [IPAddress(ipv4: 0x7F00_0002)]
        #expect(try recorder.run(request).body == Array("two".utf8))
        request.id = AttemptID(3)
        request.addresses = [IPAddress(ipv4: 0x7F00_0001)]
        #expect(try recorder.run(request).body == Array("one".utf8))
        #expect(server.requests.map { $0.field("host") } == Array(repeating: "tide.invalid:\(server.port)", count: 2))
    }

    @Test("Addresses count as known to libcurl only once an attempt with them has begun", arguments: [true, false])
    func pinnedBeforeBeginning(isDiscarded: Bool) throws {
        let server = try LiveServer { _ in .respond(text: "one") }
        defer { server.stop() }
        let recorder = try AttemptRecorder()
        var request = try AttemptRequest(1, "http://tide.invalid:\(server.port)/")
        request.addresses = [IPAddress(ipv4: 0x7F00_0001)]
        if !isDiscarded { request.body = .file(FileLocation("/nonexistent/tide"), length: 1) }
        recorder.perform { [request] engine in
            try? engine.start(Indirect(request))
            if isDiscarded { engine.discard(request.id) }
        }
        if !isDiscarded { #expect(try recorder.outcome(of: AttemptID(1)).failure == .fileError) }
        request.body = .none
        for number: UInt64 in 2...3 {
            request.id = AttemptID(number)
            #expect(try recorder.run(request).body == Array("one".utf8))
        }
    }

    @Test("Behind a proxy the addresses given are the proxy's")
    func proxyAddresses() throws {
        let proxy = try LiveServer { _ in .respond(text: "by proxy") }
        defer { proxy.stop() }
        var request = try AttemptRequest(1, "http://tide.invalid/")
        request.proxy = try Proxy("http://proxy.invalid:\(proxy.port)")
        request.addresses = [IPAddress(ipv4: 0x7F00_0001)]
        let outcome = try AttemptRecorder().run(request)
        #expect(outcome.failure == nil)
        #expect(outcome.body == Array("by proxy".utf8))
        #expect(proxy.requests.map { $0.field("host") } == ["tide.invalid"])
    }

    @Test("A refused connection gives its error number and never reached the wire")
    func refused() throws {
        let server = try LiveServer { _ in .respond() }
        server.stop()
        let outcome = try AttemptRecorder().run(AttemptRequest(1, server.url()))
        #expect(outcome.failure == .connectFailed)
        #expect(outcome.curlCode == 7)
        #expect(outcome.osError == ECONNREFUSED)
        #expect(outcome.socketError == .refused)
        #expect(!outcome.reachedWire)
        #expect(outcome.stage == .connect)
        #expect(outcome.wireTries == 0)
        #expect(!outcome.text.isEmpty)
    }

    @Test("A connection that does not come about in time is given up")
    func connectTimeout() throws {
        // A full backlog drops SYNs: this listener never accepts.
        let deaf = try DeafListener()
        var request = try AttemptRequest(1, "http://127.0.0.1:\(deaf.port)/")
        request.connectTimeout = .milliseconds(300)
        let outcome = try AttemptRecorder().run(request)
        #expect(outcome.failure == .timedOut)
        #expect(outcome.curlCode == 28)
        #expect(!outcome.reachedWire)
        #expect(outcome.ended - outcome.started >= .milliseconds(290))
        #expect(outcome.ended - outcome.started < .seconds(60))
    }

    @Test("A reset in the body is a reset, with its error number")
    func reset() throws {
        let head = LiveServerAnswer.head(200, ["Content-Length: 1000"])
        let server = try LiveServer { _ in
            LiveServerAnswer([.send(head + Array("half".utf8)), .wait(milliseconds: 50), .reset])
        }
        defer { server.stop() }
        let outcome = try AttemptRecorder().run(AttemptRequest(1, server.url()))
        #expect(outcome.failure == .reset)
        #expect(outcome.curlCode == 56)
        #expect(outcome.osError == ECONNRESET)
        #expect(outcome.socketError == .reset)
        #expect(outcome.stage == .body)
        #expect(outcome.progress.receivedWire == 4)
    }

    @Test("A body that ends before its length is truncated")
    func truncated() throws {
        let head = LiveServerAnswer.head(200, ["Content-Length: 1000"])
        let server = try LiveServer { _ in LiveServerAnswer([.send(head + Array("half".utf8)), .close]) }
        defer { server.stop() }
        let outcome = try AttemptRecorder().run(AttemptRequest(1, server.url()))
        #expect(outcome.failure == .truncated)
        #expect(!outcome.isLengthVerified)
        #expect(outcome.body.isEmpty)
    }

    @Test("Chunks without the last one are a failure, with it they prove the end")
    func chunked() throws {
        let server = try LiveServer {
            $0.path == "/whole" ? .chunked(["tide", "gate"]) : .chunked(["tide"], isWhole: false).then(.close)
        }
        defer { server.stop() }
        let recorder = try AttemptRecorder()
        let whole = try recorder.run(AttemptRequest(1, server.url("/whole")))
        #expect(whole.failure == nil)
        #expect(whole.isLengthVerified)
        #expect(whole.body == Array("tidegate".utf8))
        #expect(whole.progress.expected == nil)
        #expect(try recorder.run(AttemptRequest(2, server.url("/half"))).failure == .truncated)
    }

    @Test("A body that ends with its connection is good and not verified")
    func closeDelimited() throws {
        let server = try LiveServer { _ in
            LiveServerAnswer([.send(LiveServerAnswer.head(200, ["Connection: close"]) + Array("tide".utf8)), .close])
        }
        defer { server.stop() }
        let outcome = try AttemptRecorder().run(AttemptRequest(1, server.url()))
        #expect(outcome.failure == nil)
        #expect(!outcome.isLengthVerified)
        #expect(outcome.body == Array("tide".utf8))
    }

    @Test("An empty reply on a new connection is a reset that reached the wire")
    func emptyReply() throws {
        let server = try LiveServer { _ in LiveServerAnswer([.close]) }
        defer { server.stop() }
        let outcome = try AttemptRecorder().run(AttemptRequest(1, server.url()))
        #expect(outcome.failure == .reset)
        #expect(outcome.curlCode == 52)
        #expect(outcome.reachedWire)
        #expect(outcome.stage == .response)
    }

    @Test("A malformed response is a protocol error", arguments: ["tide\r\n\r\n", "HTTP/1.1 abc\r\n\r\n"])
    func nonsense(text: String) throws {
        let server = try LiveServer { _ in LiveServerAnswer([.send(Array(text.utf8)), .close]) }
        defer { server.stop() }
        #expect(try AttemptRecorder().run(AttemptRequest(1, server.url())).failure == .protocolError)
    }

    @Test("Interim answers are no heads")
    func interim() throws {
        let early = Array("HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n".utf8)
        let server = try LiveServer { _ in
            LiveServerAnswer([.send(early)] + LiveServerAnswer.respond(text: "x").steps)
        }
        defer { server.stop() }
        let recorder = try AttemptRecorder()
        let outcome = try recorder.run(AttemptRequest(1, server.url()))
        #expect(outcome.head?.status == 200)
        #expect(outcome.head?.field("link") == nil)
        #expect(recorder.kinds(of: AttemptID(1)) == ["wireReached", "head", "finished"])
    }

    @Test("Forty at once all arrive whole")
    func forty() throws {
        let server = try LiveServer { .pattern(100_000 + Int64($0.path.count), for: $0, slice: 7000) }
        defer { server.stop() }
        let recorder = try AttemptRecorder()
        for number in 1...40 {
            recorder.start(try AttemptRequest(UInt64(number), server.url("/" + String(repeating: "x", count: number))))
        }
        for number in 1...40 {
            let outcome = try recorder.outcome(of: AttemptID(UInt64(number)))
            #expect(outcome.failure == nil)
            #expect(outcome.body == LiveServerAnswer.bytes(count: 100_001 + Int64(number)))
        }
        #expect(server.requests.count == 40)
    }
}

extension LiveServerAnswer {
    fileprivate static func respond(_ fields: [String], _ text: String) -> LiveServerAnswer {
        .respond(200, fields, text: text)
    }
}
