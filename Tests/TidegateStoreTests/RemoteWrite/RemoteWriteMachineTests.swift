import Testing
import TidegateCore

@testable import TidegateStore

/// What is sent when, and what is lost: without a disk and without a network.
@Suite struct RemoteWriteMachineTests {
    private var machine = RemoteWriteMachine(bound: 4096 * 3)
    private static let refusedConnection = RemoteWriteFailure(.connectFailed, party: .theirs)
    private static let busy = RemoteWriteFailure(.httpStatus, status: 503, party: .theirs)

    private static func batch(_ sequence: Int64, samples: Int = 10) -> SampleBatch {
        SampleBatch(sequence: sequence, samples: samples, length: 100)
    }

    private static func sent(_ effects: [RemoteWriteMachine.Effect]) -> [Int64] {
        effects.compactMap { if case .send(let batch) = $0 { batch.sequence } else { nil } }
    }

    private static func removed(_ effects: [RemoteWriteMachine.Effect]) -> [Int64] {
        effects.compactMap { if case .remove(let batch) = $0 { batch.sequence } else { nil } }
    }

    private static func reported(_ effects: [RemoteWriteMachine.Effect]) -> [RemoteWriteEvent] {
        effects.compactMap { if case .report(let event) = $0 { event } else { nil } }
    }

    @Test("One request is under way at a time, that of the oldest batch, whatever happens meanwhile")
    mutating func inOrder() {
        #expect(Self.sent(self.machine.handle(.found([Self.batch(3), Self.batch(4)]))) == [3])
        #expect(Self.sent(self.machine.handle(.stored(Self.batch(5)))) == [])
        let effects = self.machine.handle(.finished(.delivered))
        #expect(Self.removed(effects) == [3])
        #expect(Self.sent(effects) == [4])
        #expect(Self.sent(self.machine.handle(.finished(.delivered))) == [5])
        #expect(Self.sent(self.machine.handle(.finished(.delivered))) == [])
        #expect(Self.sent(self.machine.handle(.stored(Self.batch(6)))) == [6])
    }

    @Test("A refused batch is dropped, counted and reported as news once, and the next one is sent")
    mutating func refused() {
        _ = self.machine.handle(.found([Self.batch(1), Self.batch(2), Self.batch(3)]))
        let status = RemoteWriteFailure(.httpStatus, status: 400, party: .theirs)
        #expect(self.machine.handle(.attemptFailed(status)) == [])
        let first = self.machine.handle(.finished(.refused(status: 400)))
        #expect(Self.sent(first) == [2])
        #expect(
            Self.reported(first) == [
                .dropped(.refused, samples: 10, detail: "status 400", pending: 8192, isNews: true)
            ])
        let second = self.machine.handle(.finished(.refused(status: 400)))
        #expect(Self.reported(second).map(\.isNews) == [false])
        #expect(Self.reported(self.machine.handle(.finished(.delivered))).map(\.isNews) == [true])
    }

    @Test(
        "A failure keeps the batch, is news once for each cause, and is followed by a pause only when the request has ended"
    )
    mutating func failed() {
        _ = self.machine.handle(.found([Self.batch(1)]))
        let failures = [Self.refusedConnection, Self.refusedConnection, Self.busy, Self.busy, Self.refusedConnection]
        let news = failures.flatMap { Self.reported(self.machine.handle(.attemptFailed($0))).map(\.isNews) }
        #expect(news == [true, false, true, false, false])
        #expect(self.machine.handle(.finished(.failed(Self.busy))) == [.pause])
        #expect(Self.sent(self.machine.handle(.stored(Self.batch(2)))) == [])
        #expect(Self.sent(self.machine.handle(.pauseEnded)) == [1])
        // A failure before the request was sent is reported, too.
        let early = RemoteWriteFailure(.fileError, explanation: "/etc/token cannot be read")
        #expect(self.machine.handle(.finished(.failed(early))) == [.report(.failed(early, isNews: true)), .pause])
        _ = self.machine.handle(.pauseEnded)
        let end = self.machine.handle(.finished(.delivered))
        #expect(Self.reported(end) == [.delivered(samples: 10, pending: 4096, isNews: true)])
        #expect(Self.sent(end) == [2])
        #expect(
            Self.reported(self.machine.handle(.finished(.delivered))) == [
                .delivered(samples: 10, pending: 0, isNews: false)
            ])
    }

    @Test("Beyond the bound the oldest batches are dropped, except for the one that is being sent")
    mutating func bound() {
        let effects = self.machine.handle(.found((1...5).map { Self.batch($0) }))
        #expect(Self.removed(effects) == [1, 2])
        #expect(Self.sent(effects) == [3])
        let next = self.machine.handle(.stored(Self.batch(6)))
        #expect(Self.removed(next) == [4])
        #expect(
            Self.reported(next).last == .dropped(.bufferFull, samples: 10, detail: nil, pending: 12_288, isNews: false))
        #expect(Self.sent(self.machine.handle(.finished(.delivered))) == [5])
    }

    @Test("Discarded files of an earlier process are reported as damaged")
    mutating func discarded() {
        let effects = self.machine.handle(.discarded(samples: 7, detail: "queue.sqlite"))
        #expect(
            effects == [
                .report(.dropped(.damaged, samples: 7, detail: "queue.sqlite", pending: 0, isNews: true))
            ])
    }

    @Test("A damaged batch is lost alone, and is named")
    mutating func damaged() {
        _ = self.machine.handle(.found([Self.batch(1, samples: 7), Self.batch(2)]))
        let effects = self.machine.handle(.damaged)
        #expect(Self.sent(effects) == [2])
        #expect(
            Self.reported(effects) == [
                .dropped(
                    .damaged, samples: 7, detail: "batch 1", pending: 4096, isNews: true)
            ])
    }

    @Test("Without a disk, a batch that can be sent at once is sent, and the others are lost and counted")
    mutating func withoutDisk() {
        let batch = SampleBatch(sequence: 1, samples: 10, length: 100, location: .memory([1]))
        #expect(self.machine.handle(.notStored(batch, "database or disk is full")) == [.send(batch)])
        let lost = self.machine.handle(.notStored(batch, "database or disk is full"))
        #expect(
            Self.reported(lost) == [
                .dropped(
                    .disk, samples: 10, detail: "database or disk is full", pending: 4096, isNews: true)
            ])
        #expect(Self.sent(self.machine.handle(.finished(.delivered))) == [])
    }

    @Test("After a stop every input is ignored")
    mutating func stop() {
        _ = self.machine.handle(.found([Self.batch(1), Self.batch(2)]))
        #expect(self.machine.handle(.stop) == [])
        let inputs: [RemoteWriteMachine.Input] = [
            .finished(.cancelled), .finished(.delivered), .stored(Self.batch(3)), .pauseEnded, .damaged,
            .attemptFailed(Self.busy),
        ]
        for input in inputs { #expect(self.machine.handle(input) == []) }
    }

    @Test(
        "A status decides whether the same samples may be sent again",
        arguments: [(400, true), (401, true), (404, true), (413, true), (408, true), (429, false), (500, false)])
    func refusals(_ status: Int, _ isRefusal: Bool) {
        #expect(SendOutcome.isRefusal(status) == isRefusal)
    }
}
