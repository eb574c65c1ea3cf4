import Synchronization
import Testing
import TidegateTestKit
import TidegateTesting

@testable import Tidegate
@testable import TidegateCore
@testable import TidegateReachability

/// What tasks, probes and connections of other programs show about this host's ways out.
@Suite struct EvidenceObserverTests {
    private static let (own, remote) = (IPAddress(ipv4: 0x0A00_0002), IPAddress(ipv4: 0x0808_0808))
    private static let now = MonotonicTime(nanoseconds: 1_000_000_000_000)
    private static let start = now - .seconds(2)

    private func shown(by payload: Event.Payload) -> [TrafficEvidence] {
        let found = Box()
        EvidenceObserver { evidence in found.value.withLock { $0.append(evidence) } }
            .receive(Event(sequence: 1, time: WallTime(microseconds: 0), moment: Self.now, payload: payload))
        return found.value.withLock { $0 }
    }

    private final class Box: Sendable {
        let value = Mutex<[TrafficEvidence]>([])
    }

    private func task(_ kind: TaskEvent.Kind) throws -> Event.Payload {
        .task(
            TaskEvent(
                id: try #require(TaskID("00000000-0000-4000-8000-000000000001")), taskKind: .data, kind: kind))
    }

    private func summary(tls: Duration? = nil, connect: Duration? = nil) -> AttemptSummary {
        AttemptSummary(
            number: 1, method: "GET", duration: .seconds(2), phases: PhaseDurations(connect: connect, tls: tls),
            remote: Self.remote, local: Self.own)
    }

    private func probe(
        _ failure: ProbeFailure?, _ result: ProbeEvent.Result = .failure, isNews: Bool = true,
        isGated: Bool = false
    ) -> [TrafficEvidence] {
        var outcome = ProbeEvent.Outcome(
            result: failure == nil ? .success : result, failure: failure, duration: .seconds(2), isNews: isNews,
            isGated: isGated, family: .ipv6)
        outcome.connection =
            failure == nil ? ProbeConnection(local: Self.own, remote: Self.remote, isEncrypted: true) : nil
        return self.shown(by: .probe(ProbeEvent(probe: "api", .finished(outcome))))
    }

    private func failure(_ reason: String, _ party: FaultParty) -> ProbeFailure {
        ProbeFailure(reason: reason, party: party, text: "")
    }

    private func success(isEncrypted: Bool, connect: Duration? = nil) -> TrafficEvidence {
        .success(
            .init(
                from: Self.own, to: Self.remote, isEncrypted: isEncrypted, connect: connect, start: Self.start,
                end: Self.now))
    }

    @Test("A request that succeeds proves its path")
    func successes() throws {
        let plain = self.summary(connect: .seconds(1))
        #expect(
            self.shown(by: try self.task(.attemptSucceeded(plain)))
                == [self.success(isEncrypted: false, connect: .seconds(1))])
        #expect(
            self.shown(by: try self.task(.attemptSucceeded(self.summary(tls: .zero))))
                == [self.success(isEncrypted: true)])
        #expect(self.probe(nil) == [self.success(isEncrypted: true), .answer])
        #expect(self.shown(by: try self.task(.resumed)) == [])
    }

    @Test("An attempt that fails with an answer is a failure and no silence")
    func answered() throws {
        let answer = Attribution(party: .theirs, rung: .http)
        let kind = TaskEvent.Kind.attemptFailed(self.summary(), .httpStatus, answer, isCharged: true)
        #expect(self.shown(by: try self.task(kind)) == [.failure(Self.now)])
    }

    @Test("An attempt that fails in silence puts its family in doubt, and its party is revised later")
    func silent() throws {
        var silence = Attribution(party: .unknown, rung: .tcp)
        (silence.cause, silence.doubt) = (.unknown(.silence), .init(silent: .target))
        let kind = TaskEvent.Kind.attemptFailed(self.summary(), .timedOut, silence, isCharged: true)
        let attempt = OpenAttempts.Attempt(
            task: try #require(TaskID("00000000-0000-4000-8000-000000000001")), number: 1, party: .unknown,
            doubt: .init(silent: .target), remote: Self.remote, start: Self.start,
            moment: Self.now)
        #expect(
            self.shown(by: try self.task(kind)) == [
                .failure(Self.now), .doubt(.ipv4), .attempt(attempt),
            ])
    }

    @Test("The error of a socket does not name its sender: its party is open, and it is no silence")
    func refused() throws {
        var refused = Attribution(party: .theirs, rung: .tcp)
        refused.doubt = .init(silent: nil, target: try Target("web.test:443"))
        let kind = TaskEvent.Kind.attemptFailed(self.summary(), .connectFailed, refused, isCharged: true)
        let attempt = OpenAttempts.Attempt(
            task: try #require(TaskID("00000000-0000-4000-8000-000000000001")), number: 1, party: .theirs,
            doubt: .init(silent: nil, target: try Target("web.test:443")), remote: Self.remote, start: Self.start,
            moment: Self.now)
        #expect(self.shown(by: try self.task(kind)) == [.failure(Self.now), .attempt(attempt)])
    }

    @Test("A probe that fails in silence counts as an attempt does, what its target or the kernel said does not")
    func probes() {
        let (path, theirs) = (self.failure("timed_out", .path), self.failure("status", .theirs))
        #expect(self.probe(path) == [.failure(Self.now), .doubt(.ipv6), .silenceOf(.path, of: nil, since: Self.start)])
        #expect(self.probe(path, isNews: false) == [.failure(Self.now)], "a permanent failure is not news")
        #expect(self.probe(path, .inconclusive, isNews: false) == [.failure(Self.now), .doubt(.ipv6), .unclear])
        #expect(self.probe(theirs) == [.silenceOf(.theirs, of: nil, since: Self.start)])
        #expect(self.probe(self.failure("timed_out", .theirs)) == [.silenceOf(.theirs, of: nil, since: Self.start)])
        #expect(self.probe(self.failure("no_path", .mine), isGated: true) == [])
    }
}
