internal import Synchronization
internal import Testing
internal import TidegateCore
internal import TidegateTestKit

@testable internal import TidegateTransfer

@Suite("Telling progress")
struct ProgressTests {
    @Test("The last bytes of a burst are reported although nothing follows them")
    func endOfBurst() throws {
        let latch = Latch()
        let server = try LiveServer { _ in
            LiveServerAnswer([
                .send(LiveServerAnswer.head(200, ["Content-Length: 3000"])), .pattern(from: 0, count: 1000),
                .wait(milliseconds: 20), .pattern(from: 1000, count: 1000), .waitFor(latch),
                .pattern(from: 2000, count: 1000),
            ])
        }
        defer { server.stop() }
        defer { latch.open() }
        let recorder = try AttemptRecorder()
        recorder.start(try AttemptRequest(1, server.url()))
        try eventually("all that was sent", holds: { Self.reported(recorder).last == 2000 })
        latch.open()
        #expect(try recorder.outcome(of: AttemptID(1)).failure == nil)
        #expect(Self.reported(recorder).allSatisfy { $0 <= 3000 })
    }

    private static func reported(_ recorder: AttemptRecorder) -> [Int64] {
        recorder.reports(of: AttemptID(1)).compactMap { report in
            if case .progress(let progress) = report { progress.received } else { nil }
        }
    }

    @Test("A timer's token says what it is for", arguments: [0, 1, 4999])
    func tokens(number: Int) {
        for timer in [EngineTimer.curl, .rate(number: number), .progress(number: number)] {
            #expect(EngineTimer(token: timer.token) == timer)
        }
    }

    @Test("Clients' tokens are none of the engine's")
    func clients() { #expect(EngineTimer(token: 1 << 63 - 1) == nil) }
}
