internal import Glibc
internal import Testing
internal import TidegateCore
internal import TidegateTestKit
internal import TidegateTransfer

@Suite("Bytes on an idle connection")
struct IdleConnectionTests {
    enum Bytes: String, CaseIterable, Sendable {
        case answer, timeout, rubbish

        var step: LiveServerAnswer.Step {
            switch self {
            case .answer: .send(LiveServerAnswer.head(200, ["Content-Length: 8"]) + Array("smuggled".utf8))
            case .timeout: .send(LiveServerAnswer.head(408, ["Content-Length: 0", "Connection: close"]))
            case .rubbish: .send(Array(repeating: 0x78, count: 300_000))
            }
        }
    }

    @Test("close it: the next request goes on a new one, and gets its own answer", arguments: Bytes.allCases)
    func unasked(_ bytes: Bytes) throws {
        let isIdle = Latch()
        let server = try LiveServer { request in
            guard request.number == 1 else { return .respond(text: "own") }
            return LiveServerAnswer.respond(text: "first").then(.waitFor(isIdle), bytes.step)
        }
        defer { server.stop() }
        let recorder = try AttemptRecorder()
        #expect(try recorder.run(AttemptRequest(1, server.url())).body == Array("first".utf8))
        #expect(try recorder.ask { $0.connections.idle } == 1)
        isIdle.open()
        _ = try eventually("the end of the idle connection") {
            try? recorder.ask { $0.connections.idle == 0 ? 0 : nil }
        }
        // The server's thread has met the end, too: of the rubbish it has written all that it ever will.
        try eventually("the server's end of it", holds: { server.open == 0 })
        var request = try AttemptRequest(2, server.url())
        request.method = "POST"
        request.body = .bytes([1])
        let outcome = try recorder.run(request)
        #expect(outcome.failure == nil, "\(outcome.text)")
        #expect(outcome.body == Array("own".utf8))
        #expect(outcome.connection?.isReused == false)
        #expect(server.accepted == 2)
    }

    @Test("are not those of another socket that got the number of a closed one meanwhile")
    func reusedNumber() throws {
        let (mayMove, mayClose, isHeld, mayGoOn) = (Latch(), Latch(), Latch(), Latch())
        let server = try LiveServer { request in
            switch request.path {
            case "/busy":
                LiveServerAnswer([
                    .send(LiveServerAnswer.head(200, ["Content-Length: 2"]) + [0x61]), .waitFor(mayMove), .send([0x62]),
                ])
            case "/idle": LiveServerAnswer.respond(text: "first").then(.waitFor(mayClose), .close)
            default: .respond(text: "own")
            }
        }
        defer { server.stop() }
        let recorder = try AttemptRecorder()
        let busy = try AttemptRequest(1, server.url("/busy"), .memory(limit: 10))
        recorder.start(busy)
        _ = try eventually("the first byte") { try? recorder.received(by: busy.id) == 1 ? 0 : nil }
        let first = Set(self.sockets(to: server.port))
        #expect(try recorder.run(AttemptRequest(2, server.url("/idle"))).body == Array("first".utf8))
        let moving = try #require(first.first)
        let idle = try #require(self.sockets(to: server.port).first { !first.contains($0) })
        // What follows comes in one batch: libcurl closes the idle connection while it serves the busy one.
        recorder.perform { _ in
            isHeld.open()
            mayGoOn.wait()
        }
        isHeld.wait()
        mayMove.open()
        _ = try eventually("the second byte") { self.isReadable(moving) ? 0 : nil }
        mayClose.open()
        _ = try eventually("the end of the idle connection") { self.isReadable(idle) ? 0 : nil }
        let next = try AttemptRequest(3, server.url("/next"))
        recorder.start(next)
        mayGoOn.open()
        #expect(try recorder.outcome(of: busy.id).body == [0x61, 0x62])
        let outcome = try recorder.outcome(of: next.id)
        #expect(outcome.failure == nil, "\(outcome.text)")
        #expect(outcome.body == Array("own".utf8))
        #expect(server.accepted == 3)
    }

    enum Arrival: String, CaseIterable, Sendable {
        case answer, reset

        var step: LiveServerAnswer.Step {
            switch self {
            case .answer: .send(LiveServerAnswer.head(200, ["Content-Length: 6"]) + Array("forged".utf8))
            case .reset: .reset
            }
        }
    }

    @Test(
        "that came just before a request are never its response: it is sent once, on a new connection",
        arguments: Arrival.allCases, ["GET", "POST"])
    func justBefore(_ arrival: Arrival, _ method: String) throws {
        let rounds = 20
        let mayArrive = (0..<rounds).map { _ in Latch() }
        let server = try LiveServer { request in
            guard request.path == "/first" else { return .respond(text: "own") }
            return LiveServerAnswer.respond(text: "first").then(
                .waitFor(mayArrive[(request.number - 1) / 2]), arrival.step)
        }
        defer { server.stop() }
        let recorder = try AttemptRecorder()
        for (round, latch) in mayArrive.enumerated() {
            let first = try AttemptRequest(UInt64(2 * round + 1), server.url("/first"))
            #expect(try recorder.run(first).body == Array("first".utf8))
            let idle = try #require(self.sockets(to: server.port).first)
            var next = try AttemptRequest(UInt64(2 * round + 2), server.url("/next"))
            next.method = method
            if method == "POST" { next.body = .bytes([1]) }
            let (request, isHeld) = (next, Latch())
            // The engine sees the socket again only when libcurl is about to use it.
            recorder.perform { engine in
                isHeld.open()
                while !self.isReadable(idle) { Latch.yieldThread() }
                try? engine.start(Indirect(request))
            }
            isHeld.wait()
            latch.open()
            let outcome = try recorder.outcome(of: request.id)
            #expect(outcome.failure == nil, "\(outcome.text)")
            #expect(outcome.body == Array("own".utf8))
            #expect(outcome.connection?.isReused == false && outcome.wireTries == 1)
            #expect(recorder.kinds(of: request.id) == ["wireReached", "head", "finished"])
            // The next round's first request would use this connection.
            recorder.perform { $0.beginPool() }
        }
        #expect(server.requests.filter { $0.path == "/next" }.count == rounds)
        #expect(server.requests.map(\.connection) == Array(1...2 * rounds))
    }

    // This process's sockets that are connected to a port.
    private func sockets(to port: UInt16) -> [Int32] {
        (0..<4096).filter { descriptor in
            var (name, length) = (sockaddr_in(), socklen_t(MemoryLayout<sockaddr_in>.size))
            let result = withUnsafeMutablePointer(to: &name) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getpeername(descriptor, $0, &length) }
            }
            return result == 0 && name.sin_family == sa_family_t(AF_INET) && name.sin_port == port.bigEndian
        }
    }

    private func isReadable(_ descriptor: Int32) -> Bool {
        var ready = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        return poll(&ready, 1, 0) == 1
    }

    @Test("of a paused attempt belong to it")
    func paused() throws {
        let mayGoOn = Latch()
        let server = try LiveServer { _ in
            LiveServerAnswer([
                .send(LiveServerAnswer.head(200, ["Content-Length: 400000"])), .pattern(from: 0, count: 200_000),
                .waitFor(mayGoOn), .pattern(from: 200_000, count: 200_000),
            ])
        }
        defer { server.stop() }
        let recorder = try AttemptRecorder()
        let request = try AttemptRequest(1, server.url(), .memory(limit: 1 << 20))
        recorder.start(request)
        _ = try eventually("half of the body") { try? recorder.received(by: request.id) >= 200_000 ? 0 : nil }
        #expect(try recorder.ask { $0.pause(request.id) })
        let before = try recorder.ask(\.wakeUps)
        mayGoOn.open()
        _ = try eventually("the rest at the paused connection") { try? recorder.ask { $0.wakeUps > before ? 0 : nil } }
        #expect(
            try recorder.ask { engine in
                engine.unpause(request.id)
                return true
            })
        let outcome = try recorder.outcome(of: request.id)
        #expect(outcome.body == LiveServerAnswer.bytes(count: 400_000))
    }
}
