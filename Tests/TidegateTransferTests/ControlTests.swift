internal import Synchronization
internal import Testing
internal import TidegateCore
internal import TidegateTestKit
internal import TidegateTransfer

@Suite("Pause, discard and connection pools")
struct ControlTests {
    @Test("A paused transfer takes no bytes, and unpaused it is byte-exact", arguments: [0, 20_000, 200_000])
    func pause(after: Int64) throws {
        let total: Int64 = 600_011
        let server = try LiveServer { .pattern(total, for: $0, slice: 20_000, pauseMilliseconds: 2) }
        defer { server.stop() }
        let recorder = try AttemptRecorder()
        let id = AttemptID(1)
        recorder.start(try AttemptRequest(1, server.url()))
        try eventually("the first bytes", holds: { try recorder.received(by: id) > after })
        #expect(try recorder.ask { $0.pause(id) })
        let held = try recorder.received(by: id)
        // The server goes on: another whole exchange passes, and nothing of this body was taken meanwhile.
        #expect(try recorder.run(AttemptRequest(2, server.url("/2"), .discard)).failure == nil)
        #expect(try recorder.received(by: id) == held)
        recorder.perform { $0.unpause(id) }
        let outcome = try recorder.outcome(of: id)
        #expect(outcome.failure == nil)
        #expect(outcome.body == LiveServerAnswer.bytes(count: total))
    }

    @Test("Pausing before a connection stands is refused, and the attempt runs on")
    func pauseTooEarly() throws {
        let deaf = try DeafListener()
        let recorder = try AttemptRecorder()
        recorder.start(try AttemptRequest(1, "http://127.0.0.1:\(deaf.port)/"))
        #expect(try recorder.ask { $0.pause(AttemptID(1)) } == false)
        #expect(try recorder.ask { $0.progress(of: AttemptID(1)) != nil })
        recorder.perform { $0.discard(AttemptID(1)) }
        #expect(try recorder.ask { $0.progress(of: AttemptID(1)) == nil })
    }

    @Test("A discarded attempt closes its connection, sends nothing and is never reported again")
    func discard() throws {
        let server = try LiveServer { .pattern(10_000_000, for: $0, slice: 10_000, pauseMilliseconds: 5) }
        defer { server.stop() }
        let recorder = try AttemptRecorder()
        recorder.start(try AttemptRequest(1, server.url()))
        try eventually("the first bytes", holds: { try recorder.received(by: AttemptID(1)) > 0 })
        recorder.perform { $0.discard(AttemptID(1)) }
        let reports = try recorder.ask { _ in recorder.reports(of: AttemptID(1)).count }
        try eventually("the connection's end", holds: { server.open == 0 })
        #expect(recorder.reports(of: AttemptID(1)).count == reports)
        #expect(!recorder.kinds(of: AttemptID(1)).contains("finished"))
        #expect(try recorder.ask { $0.connections.active } == 0)
        // The slot is free again, and nothing of the old attempt sticks to it.
        #expect(try recorder.run(AttemptRequest(2, server.url("/2"), .discard)).failure == nil)
    }

    @Test("An attempt may be dropped in each of its own reports", arguments: ["wireReached", "head", "progress"])
    func detachInReport(name: String) throws {
        let server = try LiveServer { .pattern(2_000_000, for: $0, slice: 50_000, pauseMilliseconds: 20) }
        defer { server.stop() }
        let recorder = try AttemptRecorder { id, report, engine in
            if AttemptRecorder.name(of: report) == name { engine.discard(id) }
        }
        recorder.start(try AttemptRequest(1, server.url()))
        try eventually(
            "the report",
            holds: {
                recorder.reports(of: AttemptID(1)).contains { AttemptRecorder.name(of: $0) == name }
            })
        try eventually("the connection's end", holds: { server.open == 0 })
        #expect(recorder.reports(of: AttemptID(1)).last.map(AttemptRecorder.name) == name)
    }

    @Test("A new pool closes idle connections at once and opens new ones")
    func epochs() throws {
        let server = try LiveServer { _ in .respond(text: "x") }
        defer { server.stop() }
        let recorder = try AttemptRecorder()
        _ = try recorder.run(AttemptRequest(1, server.url()))
        #expect(try recorder.ask { $0.connections.idle } == 1)
        recorder.perform { $0.beginPool() }
        try eventually("the idle connection's end", holds: { server.open == 0 })
        #expect(try recorder.ask { $0.connections.idle } == 0)
        #expect(try recorder.ask { $0.poolGeneration } == 2)
        #expect(try recorder.run(AttemptRequest(2, server.url())).connectionsOpened == 1)
        #expect(server.accepted == 2)
    }

    @Test("A new pool lets running attempts finish, paused or not, and shares nothing with it")
    func oldPool() throws {
        let total: Int64 = 400_009
        let server = try LiveServer {
            $0.path == "/new" ? .respond(text: "new") : .pattern(total, for: $0, slice: 20_000, pauseMilliseconds: 5)
        }
        defer { server.stop() }
        let recorder = try AttemptRecorder()
        for number: UInt64 in [1, 2] { recorder.start(try AttemptRequest(number, server.url())) }
        for number: UInt64 in [1, 2] {
            try eventually("the first bytes", holds: { try recorder.received(by: AttemptID(number)) > 0 })
        }
        _ = try recorder.run(AttemptRequest(3, server.url("/new")))
        #expect(server.accepted == 3)
        #expect(try recorder.ask { $0.pause(AttemptID(1)) })
        recorder.perform { $0.beginPool() }
        #expect(try recorder.run(AttemptRequest(4, server.url("/new"))).connectionsOpened == 1)
        #expect(server.accepted == 4)
        recorder.perform { $0.unpause(AttemptID(1)) }
        for number: UInt64 in [1, 2] {
            let outcome = try recorder.outcome(of: AttemptID(number))
            #expect(outcome.failure == nil)
            #expect(outcome.body == LiveServerAnswer.bytes(count: total))
        }
        try eventually("the old connections' end", holds: { server.open == 1 })
        #expect(try recorder.ask { $0.connections.idle } == 1)
    }

    @Test("A server that closes an idle connection is noticed without a transfer")
    func idleClose() throws {
        let server = try LiveServer { _ in LiveServerAnswer.respond(text: "x").then(.wait(milliseconds: 50), .close) }
        defer { server.stop() }
        let recorder = try AttemptRecorder()
        _ = try recorder.run(AttemptRequest(1, server.url()))
        try eventually("an empty pool", holds: { try recorder.ask { $0.connections.idle } == 0 })
        let next = try recorder.run(AttemptRequest(2, server.url()))
        #expect(next.failure == nil)
        #expect(next.connectionsOpened == 1)
        #expect(next.wireTries == 1)
    }

    @Test("Progress is reported at most ten times a second, and grows")
    func progress() throws {
        let server = try LiveServer { .pattern(500_000, for: $0, slice: 5000, pauseMilliseconds: 10) }
        defer { server.stop() }
        let recorder = try AttemptRecorder()
        let outcome = try recorder.run(AttemptRequest(1, server.url(), .discard))
        let counts = recorder.reports(of: AttemptID(1)).compactMap { report -> AttemptProgress? in
            if case .progress(let progress) = report { progress } else { nil }
        }
        let seconds = (outcome.ended - outcome.started).inSeconds
        #expect(!counts.isEmpty)
        #expect(Double(counts.count) <= seconds * 10 + 1)
        #expect(zip(counts, counts.dropFirst()).allSatisfy { $0.received < $1.received })
        #expect(counts.allSatisfy { $0.expected == 500_000 })
        #expect(counts.allSatisfy { $0.lastActivity > outcome.started })
    }

    @Test("A rate limit holds")
    func rate() throws {
        let server = try LiveServer { .pattern(600_000, for: $0) }
        defer { server.stop() }
        var request = try AttemptRequest(1, server.url(), .discard)
        request.bytesPerSecondLimit = 300_000
        let outcome = try AttemptRecorder().run(request)
        #expect(outcome.failure == nil)
        #expect((outcome.ended - outcome.started).inSeconds > 1)
    }

    @Test("A hundred waiting requests do not keep the thread awake")
    func waiting() throws {
        let server = try LiveServer { _ in
            LiveServerAnswer([.wait(milliseconds: 1500)] + LiveServerAnswer.respond(text: "x").steps)
        }
        defer { server.stop() }
        let recorder = try AttemptRecorder()
        for number: UInt64 in 1...100 { recorder.start(try AttemptRequest(number, server.url())) }
        try eventually("all requests", holds: { server.requests.count == 100 })
        let before = try recorder.ask { $0.wakeUps }
        for number: UInt64 in 1...100 { #expect(try recorder.outcome(of: AttemptID(number)).failure == nil) }
        // One for each answer, and one to see that an idle connection was left alone; a busy loop makes thousands.
        #expect(try recorder.ask { $0.wakeUps } - before < 300)
    }

    @Test("A new attempt shows nothing of the last one that used its handle")
    func freshCounters() throws {
        let server = try LiveServer { _ in .respond(text: "hello") }
        defer { server.stop() }
        let recorder = try AttemptRecorder()
        let url = server.url()
        #expect(try recorder.run(AttemptRequest(1, url)).progress.receivedWire == 5)
        let progress = try recorder.ask { engine in
            try? engine.start(Indirect(AttemptRequest(2, url)))
            return engine.progress(of: AttemptID(2))
        }
        #expect(progress?.receivedWire == 0)
        #expect(try recorder.outcome(of: AttemptID(2)).progress.receivedWire == 5)
    }
}
