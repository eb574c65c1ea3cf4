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
        var request = try AttemptRequest(2, server.url())
        request.method = "POST"
        request.body = .bytes([1])
        let outcome = try recorder.run(request)
        #expect(outcome.failure == nil)
        #expect(outcome.body == Array("own".utf8))
        #expect(outcome.connection?.isReused == false)
        #expect(server.accepted == 2)
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
