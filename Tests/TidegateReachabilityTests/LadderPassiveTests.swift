internal import Synchronization
internal import Testing
@testable internal import TidegateCore
internal import TidegateTestKit

@testable internal import TidegateReachability

/// What requests that succeeded leave behind for the ladder.
struct LadderPassiveTests {
    private let time = ManualTime()
    private let evidence = PassiveEvidence()

    private func succeeded(_ local: String, _ remote: String, tls: Bool = false, resolved: Bool = false) throws {
        let phases = PhaseDurations(resolve: resolved ? .zero : nil, tls: tls ? .zero : nil)
        let summary = AttemptSummary(
            number: 1, method: "GET", status: 200, duration: .zero, phases: phases, remote: try address(remote),
            local: try address(local))
        self.record(.attemptSucceeded(summary))
    }

    private func connected(_ remote: String, in connect: Duration?) throws {
        let summary = AttemptSummary(
            number: 1, method: "GET", duration: .seconds(2), phases: PhaseDurations(connect: connect),
            remote: try address(remote), local: try address("10.0.0.2"))
        self.record(.attemptSucceeded(summary))
    }

    private func record(_ change: TaskEvent.Kind) {
        self.evidence.receive(self.event(change))
    }

    private func event(_ change: TaskEvent.Kind) -> Event {
        var generator = SystemRandomNumberGenerator()
        let id = TaskID(at: self.time.wall(), using: &generator)
        return self.event(.task(TaskEvent(id: id, taskKind: .data, kind: change)))
    }

    private func event(_ payload: Event.Payload) -> Event {
        Event(sequence: 1, time: self.time.wall(), moment: self.time.monotonic(), payload: payload)
    }

    @Test("A success counts for 30 s, and only for the address it came from")
    func lifetime() throws {
        try self.succeeded("10.0.0.2", "198.51.100.2")
        self.time.advance(by: .seconds(4))
        let trace = self.evidence.fresh(from: try address("10.0.0.2"), at: self.time.monotonic())
        #expect(trace?.answered == .seconds(4))
        #expect(self.evidence.fresh(from: try address("10.0.0.3"), at: self.time.monotonic()) == nil)
        #expect(self.evidence.fresh(from: nil, at: self.time.monotonic()) == nil)
        self.time.advance(by: .seconds(27))
        #expect(self.evidence.fresh(from: try address("10.0.0.2"), at: self.time.monotonic()) == nil)
    }

    @Test("Connections to two remotes that took a second longer count for half a minute, those to one remote do not")
    func lateConnects() throws {
        let (own, another, remote) = (
            try address("10.0.0.2"), try address("10.0.0.3"), try address("198.51.100.9")
        )
        func late(_ source: IPAddress) -> MonotonicTime? {
            self.evidence.lastLateConnect(from: source, at: self.time.monotonic())
        }
        self.time.advance(by: .seconds(60))
        for _ in 0..<3 { try self.connected("198.51.100.2", in: .milliseconds(1031)) }
        try self.connected("198.51.100.3", in: .milliseconds(899))
        try self.connected("198.51.100.4", in: nil)
        #expect(late(own) == nil)
        let connection = ProbeConnection(local: own, remote: remote, isEncrypted: false, connect: .milliseconds(1100))
        var outcome = ProbeEvent.Outcome(.success, duration: .seconds(1))
        outcome.connection = connection
        self.evidence.receive(self.event(Event.Payload.probe(ProbeEvent(probe: "api", .finished(outcome)))))
        #expect(late(own) == self.time.monotonic() - .seconds(1) && late(another) == nil)
        self.time.advance(by: .seconds(28))
        #expect(late(own) != nil)
        self.time.advance(by: .seconds(1))
        #expect(late(own) == nil, "the first request began 31 seconds ago")
    }

    @Test("Only TLS with a global address shows the internet")
    func kinds() throws {
        let own = try address("10.0.0.2")
        try self.succeeded("10.0.0.2", "192.168.1.1", tls: true)
        try self.succeeded("10.0.0.2", "8.8.8.8")
        #expect(self.evidence.fresh(from: own, at: self.time.monotonic())?.internet == nil)
        try self.succeeded("10.0.0.2", "8.8.8.8", tls: true, resolved: true)
        let trace = self.evidence.fresh(from: own, at: self.time.monotonic())
        #expect(trace?.internet != nil)
        self.time.advance(by: .seconds(20))
        try self.succeeded("10.0.0.2", "8.8.8.8")
        self.time.advance(by: .seconds(20))
        let later = self.evidence.fresh(from: own, at: self.time.monotonic())
        #expect(later != nil && later?.internet == nil, "the answer is fresh, the handshake is not")
    }

    @Test("A silent failure ends what was known of its version of IP; an answer does not")
    func silence() throws {
        let (own4, own6) = (try address("10.0.0.2"), try address("2001:db8::2"))
        func known(_ source: IPAddress) -> Bool { self.evidence.fresh(from: source, at: self.time.monotonic()) != nil }
        try self.succeeded("10.0.0.2", "198.51.100.2")
        try self.succeeded("2001:db8::2", "2001:db8:9::1")
        let remote = try address("198.51.100.3")
        let summary = AttemptSummary(number: 1, method: "GET", duration: .zero, phases: .init(), remote: remote)
        let answer = Attribution(party: .theirs, rung: .http)
        self.record(.attemptFailed(summary, .httpStatus, answer, isCharged: true))
        #expect(known(own4) && known(own6))
        let silence = Attribution(cause: .unknown(.silence), rung: .tcp, evidence: [], silence: .target)
        self.record(.attemptFailed(summary, .timedOut, silence, isCharged: true))
        #expect(!known(own4) && known(own6))
    }

    @Test("Many source addresses do not grow it; the quietest one goes")
    func bound() throws {
        for host in 1...20 {
            self.time.advance(by: .milliseconds(1))
            try self.succeeded("10.0.0.\(host)", "8.8.8.8")
        }
        #expect(self.evidence.fresh(from: try address("10.0.0.12"), at: self.time.monotonic()) == nil)
        #expect(self.evidence.fresh(from: try address("10.0.0.13"), at: self.time.monotonic()) != nil)
        #expect(self.evidence.fresh(from: try address("10.0.0.20"), at: self.time.monotonic()) != nil)
    }

    @Test("Failed attempts are reported at most once a second")
    func trouble() {
        let counter = Counter()
        let sink = FailedAttemptObserver { counter.add() }
        let failed = TaskEvent.Kind.attemptFailed(
            AttemptSummary(number: 1, method: "GET", duration: .zero), .connectFailed, nil, isCharged: true)
        for _ in 0..<100 { sink.receive(self.event(failed)) }
        #expect(counter.count == 1)
        self.time.advance(by: .seconds(1))
        for _ in 0..<100 { sink.receive(self.event(failed)) }
        sink.receive(self.event(.resumed))
        #expect(counter.count == 2)
    }

    @Test("A probe that fails in silence counts as a request does; what its target or the kernel said does not")
    func probes() throws {
        let own = try address("10.0.0.2")
        let counter = Counter()
        let sink = FailedAttemptObserver { counter.add() }
        func receive(
            _ reason: String, _ party: FaultParty, isGated: Bool = false, isNews: Bool = true,
            family: AddressFamily = .ipv4
        ) -> Bool {
            let failure = ProbeFailure(reason: reason, party: party, text: "")
            let outcome = ProbeEvent.Outcome(
                result: .failure, failure: failure, duration: .zero, isNews: isNews, isGated: isGated, family: family)
            let event = Event(
                sequence: 1, time: self.time.wall(), moment: self.time.monotonic(),
                payload: .probe(ProbeEvent(probe: "api", .finished(outcome))))
            self.evidence.receive(event)
            sink.receive(event)
            return self.evidence.fresh(from: own, at: self.time.monotonic()) != nil
        }
        try self.succeeded("10.0.0.2", "198.51.100.2")
        #expect(receive("timed_out", .theirs) && receive("status", .theirs))
        #expect(receive("no_path", .mine, isGated: true) && counter.count == 0)
        #expect(receive("timed_out", .path, isNews: false) && receive("timed_out", .path, family: .ipv6))
        #expect(!receive("timed_out", .path) && counter.count == 1)
    }

    @Test("A probe that succeeds proves its path as a request does")
    func successfulProbe() throws {
        let own = try address("10.0.0.2")
        let connection = ProbeConnection(
            local: own, remote: try address("8.8.8.8"), isEncrypted: true)
        let outcome = ProbeEvent.Outcome(result: .success, duration: .zero, family: .ipv4, connection: connection)
        self.evidence.receive(
            Event(
                sequence: 1, time: self.time.wall(), moment: self.time.monotonic(),
                payload: .probe(ProbeEvent(probe: "api", .finished(outcome)))))
        let record = try #require(self.evidence.fresh(from: own, at: self.time.monotonic()))
        #expect(record.remote == connection.remote && record.internet != nil)
    }

    private final class Counter: Sendable {
        private let value = Atomic<Int>(0)
        var count: Int { self.value.load(ordering: .relaxed) }
        func add() { self.value.add(1, ordering: .relaxed) }
    }

    @Test(
        "What is global",
        arguments: [
            ("8.8.8.8", true), ("198.51.100.2", true), ("10.1.2.3", false), ("172.16.0.1", false), ("172.32.0.1", true),
            ("192.168.0.1", false), ("100.64.0.1", false), ("100.128.0.1", true), ("127.0.0.1", false),
            ("169.254.1.1", false), ("0.0.0.0", false), ("2001:db8::1", true), ("fd00::1", false), ("fe80::1", false),
            ("::1", false), ("ff02::1", false),
        ])
    func global(_ text: String, _ isGlobal: Bool) throws {
        #expect(try address(text).isGlobal == isGlobal)
    }
}
