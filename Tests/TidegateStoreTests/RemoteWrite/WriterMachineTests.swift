import Testing
import TidegateCore

@testable import TidegateStore

/// What is sent when, and what is lost, without a disk and without a wire.
@Suite struct WriterMachineTests {
    private var machine = WriterMachine(bound: 4096 * 3)
    private static let refusedConnection = RemoteWriteFailure(.connectFailed, party: .theirs)
    private static let busy = RemoteWriteFailure(.httpStatus, status: 503, party: .theirs)

    private static func segment(_ sequence: UInt64, samples: Int = 10) -> Segment {
        Segment(sequence: sequence, samples: samples, length: 100)
    }

    private static func sent(_ effects: [WriterMachine.Effect]) -> [UInt64] {
        effects.compactMap { if case .send(let segment) = $0 { segment.sequence } else { nil } }
    }

    private static func removed(_ effects: [WriterMachine.Effect]) -> [UInt64] {
        effects.compactMap { if case .remove(let segment) = $0 { segment.sequence } else { nil } }
    }

    private static func told(_ effects: [WriterMachine.Effect]) -> [RemoteWriteEvent] {
        effects.compactMap { if case .tell(let event) = $0 { event } else { nil } }
    }

    @Test("One request is in flight, the oldest segment's, whatever comes meanwhile")
    mutating func inOrder() {
        #expect(Self.sent(self.machine.handle(.found([Self.segment(3), Self.segment(4)]))) == [3])
        #expect(Self.sent(self.machine.handle(.kept(Self.segment(5)))) == [])
        let effects = self.machine.handle(.ended(.delivered))
        #expect(Self.removed(effects) == [3])
        #expect(Self.sent(effects) == [4])
        #expect(Self.sent(self.machine.handle(.ended(.delivered))) == [5])
        #expect(Self.sent(self.machine.handle(.ended(.delivered))) == [])
        #expect(Self.sent(self.machine.handle(.kept(Self.segment(6)))) == [6])
    }

    @Test("What the receiver refuses is dropped, counted, and told aloud once; the next one is sent")
    mutating func refused() {
        _ = self.machine.handle(.found([Self.segment(1), Self.segment(2), Self.segment(3)]))
        let status = RemoteWriteFailure(.httpStatus, status: 400, party: .theirs)
        #expect(self.machine.handle(.tryFailed(status)) == [])
        let first = self.machine.handle(.ended(.refused(status: 400)))
        #expect(Self.sent(first) == [2])
        #expect(
            Self.told(first) == [
                .dropped(.refused, samples: 10, detail: "status 400", pending: 8192, isNews: true)
            ])
        let second = self.machine.handle(.ended(.refused(status: 400)))
        #expect(Self.told(second).map(\.isNews) == [false])
        #expect(Self.told(self.machine.handle(.ended(.delivered))).map(\.isNews) == [true])
    }

    @Test("A failure keeps the segment, is told aloud once for each cause, and rests only when no try is left")
    mutating func failed() {
        _ = self.machine.handle(.found([Self.segment(1)]))
        let tries = [Self.refusedConnection, Self.refusedConnection, Self.busy, Self.busy, Self.refusedConnection]
        let news = tries.flatMap { Self.told(self.machine.handle(.tryFailed($0))).map(\.isNews) }
        #expect(news == [true, false, true, false, false])
        #expect(self.machine.handle(.ended(.failed(Self.busy))) == [.rest])
        #expect(Self.sent(self.machine.handle(.kept(Self.segment(2)))) == [])
        #expect(Self.sent(self.machine.handle(.rested)) == [1])
        // What failed before anybody was asked is told, too.
        let early = RemoteWriteFailure(.fileError, explanation: "/etc/token cannot be read")
        #expect(self.machine.handle(.ended(.failed(early))) == [.tell(.failed(early, isNews: true)), .rest])
        _ = self.machine.handle(.rested)
        let end = self.machine.handle(.ended(.delivered))
        #expect(Self.told(end) == [.delivered(samples: 10, pending: 4096, isNews: true)])
        #expect(Self.sent(end) == [2])
        #expect(
            Self.told(self.machine.handle(.ended(.delivered))) == [.delivered(samples: 10, pending: 0, isNews: false)])
    }

    @Test("Beyond the bound the oldest go, but for the one that is on its way")
    mutating func bound() {
        let effects = self.machine.handle(.found((1...5).map { Self.segment($0) }))
        #expect(Self.removed(effects) == [1, 2])
        #expect(Self.sent(effects) == [3])
        let next = self.machine.handle(.kept(Self.segment(6)))
        #expect(Self.removed(next) == [4])
        #expect(
            Self.told(next).last == .dropped(.bufferFull, samples: 10, detail: nil, pending: 12_288, isNews: false))
        #expect(Self.sent(self.machine.handle(.ended(.delivered))) == [5])
    }

    @Test("A damaged segment is lost alone, and its file is named")
    mutating func damaged() {
        _ = self.machine.handle(.found([Self.segment(1, samples: 7), Self.segment(2)]))
        let effects = self.machine.handle(.damaged)
        #expect(Self.sent(effects) == [2])
        #expect(
            Self.told(effects) == [
                .dropped(
                    .damaged, samples: 7, detail: "00000000000000000001-7.segment", pending: 4096, isNews: true)
            ])
    }

    @Test("Where the disk takes nothing, what can be sent at once is sent, and the rest is lost and counted")
    mutating func withoutDisk() {
        let segment = Segment(sequence: 1, samples: 10, length: 100, place: .memory([1]))
        #expect(self.machine.handle(.unkept(segment, "write: No space left on device")) == [.send(segment)])
        let lost = self.machine.handle(.unkept(segment, "write: No space left on device"))
        #expect(
            Self.told(lost) == [
                .dropped(
                    .disk, samples: 10, detail: "write: No space left on device", pending: 4096, isNews: true)
            ])
        #expect(Self.sent(self.machine.handle(.ended(.delivered))) == [])
    }

    @Test("Nothing follows a stop")
    mutating func stop() {
        _ = self.machine.handle(.found([Self.segment(1), Self.segment(2)]))
        #expect(self.machine.handle(.stop) == [])
        let inputs: [WriterMachine.Input] = [
            .ended(.cancelled), .ended(.delivered), .kept(Self.segment(3)), .rested, .damaged, .tryFailed(Self.busy),
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
