import Synchronization
import Testing
import TidegateCore
import TidegateLoop
import TidegateSessionTestKit
import TidegateTransfer

@testable import TidegateSession

/// The gate on a scripted path source, without a thread.
@Suite
struct PathGateTests {
    /// Records which timers are set; none ever fires by itself.
    private final class RecordedTimers: TimerQueue {
        private var heap = TimerHeap()
        private var set: [(timer: TransferTimer, token: UInt64)] = []

        var tokens: [UInt64] { self.set.map(\.token) }

        func schedule(at moment: MonotonicTime, token: UInt64) -> TransferTimer {
            let timer = self.heap.schedule(at: moment, token: token)
            self.set.append((timer, token))
            return timer
        }

        func schedule(after delay: Duration, token: UInt64) -> TransferTimer {
            self.schedule(at: PathGateTests.now + delay, token: token)
        }

        func cancel(_ timer: TransferTimer) { self.set.removeAll { $0.timer == timer } }
    }

    private final class Events: Sendable {
        private let all = Mutex<[(target: UInt64, event: PathGate.Event)]>([])

        func add(_ target: UInt64, _ event: PathGate.Event) { self.all.withLock { $0.append((target, event)) } }

        var verdicts: [ReachabilityLevel] {
            self.all.withLock { all in
                all.compactMap { if case .verdict(let verdict) = $0.event { verdict.verdict.level } else { nil } }
            }
        }
    }

    private final class Fixture {
        let paths: ScriptedPathSource
        let timers = RecordedTimers()
        let events = Events()
        let gate: PathGate

        init(_ verdict: Verdict = ScriptedPathSource.routed()) {
            let (paths, events) = (ScriptedPathSource(verdict), self.events)
            self.paths = paths
            self.gate = PathGate(paths: paths, timers: self.timers) { events.add($0, $1) }
        }
    }

    private static let now = MonotonicTime(nanoseconds: 0)

    @Test("Tasks of one target share its watch, which ends when the target has been empty for a while")
    func sharing() throws {
        let fixture = Fixture()
        let target = try Target("a.test:80")
        var gates = [GateState(), GateState()]
        let first = fixture.gate.attach(1, &gates[0], to: target)
        let second = fixture.gate.attach(2, &gates[1], to: target)
        #expect(first === second)
        #expect(fixture.paths.watchesOpened(for: target) == 1)
        fixture.gate.detach(1, &gates[0])
        #expect(fixture.timers.tokens.isEmpty)
        fixture.gate.detach(2, &gates[1])
        #expect(fixture.timers.tokens == [SessionTimer.target(first.number, .close).token])
        fixture.gate.timerFired(.close, of: first)
        #expect(fixture.paths.watches == 0)
        #expect(fixture.gate.target(first.number) == nil)
    }

    @Test("A task that comes back in time finds the same target")
    func comingBack() throws {
        let fixture = Fixture()
        let target = try Target("a.test:80")
        var gate = GateState()
        let first = fixture.gate.attach(1, &gate, to: target)
        fixture.gate.detach(1, &gate)
        let again = fixture.gate.attach(1, &gate, to: target)
        #expect(again === first)
        #expect(fixture.timers.tokens.isEmpty)
        #expect(fixture.paths.watchesOpened(for: target) == 1)
    }

    @Test("The gate is open or shut by the verdict, and open once a silent source has had its time")
    func evaluation() throws {
        let fixture = Fixture(.unknown)
        fixture.paths.beSilent()
        var gate = GateState()
        let state = fixture.gate.attach(1, &gate, to: try Target("a.test:80"))
        #expect(state.known == nil)
        fixture.gate.awaitVerdict(1, &gate, at: state)
        #expect(fixture.timers.tokens == [SessionTimer.target(state.number, .firstVerdict).token])
        fixture.gate.timerFired(.firstVerdict, of: state)
        let waiting = state.awaitingVerdict.removeAll()
        #expect(waiting == [1])
        #expect(fixture.gate.evaluate(.init(), at: state) == .open)
        state.update(TargetVerdict(target: state.target, verdict: ScriptedPathSource.lost(.noCarrier)))
        fixture.gate.inputEnded()
        let shut = try #require(Self.shut(fixture.gate.evaluate(.init(), at: state)))
        #expect(shut.reason == .path)
        #expect(shut.message == "no path: the link has no carrier")
        #expect(fixture.gate.evaluate(.open, at: state) == .open)
    }

    private static func shut(_ admission: GateEvaluator.Admission) -> GateEvaluator.Shut? {
        if case .shut(let shut) = admission { shut } else { nil }
    }

    @Test("A gate for online is watched: its target's watch reports when the internet checks come to another result")
    func online() throws {
        let fixture = Fixture()
        var gate = GateState()
        let state = fixture.gate.attach(1, &gate, to: try Target("192.0.2.1:80"))
        let policy = GatePolicy(require: [.online])
        let shut = try #require(Self.shut(fixture.gate.evaluate(policy, at: state)))
        #expect(shut.requirement == .online)
        fixture.gate.wait(1, &gate, at: state, for: shut, now: Self.now)
        // Nothing polls.
        #expect(fixture.timers.tokens.isEmpty)
        let before = fixture.events.verdicts.count
        fixture.paths.say(Verdict(level: .online), for: .ipv4)
        #expect(fixture.events.verdicts.count == before + 1)
        fixture.gate.inputEnded()
        #expect(fixture.gate.evaluate(policy, at: state) == .open)
    }

    @Test("It is reported once for each attempt how a task left its gate, and how long it waited")
    func reports() throws {
        let fixture = Fixture(ScriptedPathSource.lost())
        var gate = GateState()
        let state = fixture.gate.attach(1, &gate, to: try Target("a.test:80"))
        let shut = try #require(Self.shut(fixture.gate.evaluate(.init(), at: state)))
        fixture.gate.wait(1, &gate, at: state, for: shut, now: Self.now)
        #expect(state.waiting.all == [1])
        let report = fixture.gate.leave(1, &gate, .delayed, now: Self.now + .seconds(3))
        #expect(report.map { "\($0)" } == "\(TaskEvent.Kind.gate(.delayed, waited: .seconds(3)))")
        #expect(state.waiting.isEmpty)
        #expect(fixture.gate.leave(1, &gate, .immediate, now: Self.now) == nil)
        #expect(fixture.gate.leave(1, &gate, .cancelled, now: Self.now) == nil)
    }

    @Test("An attempt goes to the reachable addresses of its verdict, and the resolver is asked only without them")
    func addresses() throws {
        let fixture = Fixture()
        let (here, gone) = (try #require(IPAddress("192.0.2.1")), try #require(IPAddress("2001:db8::1")))
        let target = try Target("a.test:80")
        fixture.paths.say(
            TargetVerdict(
                target: target, verdict: ScriptedPathSource.routed(),
                addresses: [
                    AddressVerdict(address: gone, verdict: ScriptedPathSource.lost()),
                    AddressVerdict(address: here, verdict: ScriptedPathSource.routed()),
                ]))
        var gate = GateState()
        let state = fixture.gate.attach(1, &gate, to: target)
        #expect(fixture.gate.addresses(of: state, at: Self.now) == [here])

        var other = GateState()
        let unnamed = fixture.gate.attach(2, &other, to: try Target("b.test:80"))
        #expect(fixture.gate.addresses(of: unnamed, at: Self.now) == nil)
        var literal = GateState()
        let number = fixture.gate.attach(3, &literal, to: try Target("192.0.2.9:80"))
        #expect(fixture.gate.addresses(of: number, at: Self.now) == [try #require(IPAddress("192.0.2.9"))])
    }

    @Test("On a new network the last verdict's addresses do not count until the next verdict")
    func newNetwork() throws {
        let fixture = Fixture()
        let address = try #require(IPAddress("192.0.2.1"))
        let target = try Target("a.test:80")
        let verdict = TargetVerdict(
            target: target, verdict: ScriptedPathSource.routed(),
            addresses: [AddressVerdict(address: address, verdict: ScriptedPathSource.routed())])
        fixture.paths.say(verdict)
        var gate = GateState()
        let state = fixture.gate.attach(1, &gate, to: target)
        let effects = fixture.gate.networkChanged()
        #expect(fixture.gate.addresses(of: state, at: Self.now) == nil)
        #expect(effects.count == 1)
        if case .forgetNames = effects[0] {} else { Issue.record("names are kept: \(effects)") }
        state.update(verdict)
        #expect(fixture.gate.addresses(of: state, at: Self.now) == [address])
    }

    @Test("A path is moved, down or back by the verdict for the address that is used")
    func changes() throws {
        let fixture = Fixture()
        var gate = GateState()
        let state = fixture.gate.attach(1, &gate, to: try Target("192.0.2.1:80"))
        let used = ScriptedPathSource.routed().path
        let local = try #require(IPAddress("127.0.0.1"))
        func change() -> PathGate.PathChange {
            fixture.gate.change(from: used, local: local, remote: nil, at: state)
        }
        #expect(change() == .back)
        state.update(TargetVerdict(target: state.target, verdict: ScriptedPathSource.lost()))
        #expect(change() == .down)
        state.update(TargetVerdict(target: state.target, verdict: .unknown))
        #expect(change() == .none)
        state.update(
            TargetVerdict(target: state.target, verdict: ScriptedPathSource.routed(over: "eth1", index: 7)))
        #expect(change() == .moved)
        state.update(TargetVerdict(target: state.target, verdict: ScriptedPathSource.routed()))
        fixture.paths.hold(local, false)
        #expect(change() == .moved)
    }

    @Test("After an outage one task goes first; it is followed by all, or by the next one if it had no connection")
    func canary() {
        var canary = CanaryRelease()
        let held = Array(canary.release([1, 2, 3]))
        #expect(held == [2, 3])
        for task in held { canary.follow(task) }
        #expect(canary.leader == 1)
        let isWaitedFor = canary.isWaitedFor()
        #expect(isWaitedFor)
        let (first, second) = (canary.leaderFailed(), canary.leaderFailed())
        #expect(first == .milliseconds(250) && second == .milliseconds(500))
        #expect(canary.isBetweenLeaders)
        let next = canary.nextFollower()
        #expect(next == 2)
        canary.lead(2)
        let more = Array(canary.release([4]))
        #expect(more == [4])
        canary.follow(4)
        let all = canary.finish()
        #expect(all == [3, 4])
        #expect(canary.leader == nil && canary.followers.isEmpty)
    }
}
