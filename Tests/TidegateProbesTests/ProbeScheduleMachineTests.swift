import Testing
import TidegateCore
import TidegateLoop
import TidegateTestKit

@testable import TidegateProbes

/// When scheduled probes run, and what their runs say of their targets.
struct ProbeScheduleMachineTests {
    private typealias ID = ProbeScheduleMachine.ID

    private static let api = ScheduledProbe(name: "api", module: "m", target: "a", every: .seconds(15), jitter: 0)

    /// A machine with its clock.
    private struct Fixture {
        var machine = ProbeScheduleMachine()
        var now = MonotonicTime(nanoseconds: 1_000_000_000)
        var generator = SystemRandomNumberGenerator()

        init(_ probes: [ScheduledProbe] = [ProbeScheduleMachineTests.api]) { _ = self.load(probes) }

        mutating func load(_ probes: [ScheduledProbe]) -> [ProbeScheduleMachine.Effect] {
            self.machine.load(probes, at: self.now)
        }

        /// Goes on to the next turn; gives what follows from it.
        mutating func turn() -> [ProbeScheduleMachine.Effect] {
            self.now = self.machine.deadline ?? self.now
            return self.machine.tick(at: self.now, using: &self.generator)
        }

        mutating func finish(
            _ id: ID = 1, _ failure: ProbeFailure? = nil, isGated: Bool = false, isOutage: Bool = false
        ) -> ProbeEvent.Outcome? {
            let report = ProbeReport(
                module: "m", target: "a", start: WallTime(microseconds: 0), duration: .milliseconds(20),
                failure: failure, isGated: isGated, isOutage: isOutage, families: [],
                log: ProbeLog(module: "m", target: "a"),
                configuration: "")
            for case .publish(let event) in self.machine.finished(id, report, at: self.now, Self.wall) {
                if case .finished(let outcome) = event.kind { return outcome }
            }
            return nil
        }

        /// Takes the next turn and ends its run at once.
        mutating func run(
            _ failure: ProbeFailure? = nil, isGated: Bool = false, isOutage: Bool = false
        ) -> ProbeEvent.Result? {
            _ = self.turn()
            return self.finish(1, failure, isGated: isGated, isOutage: isOutage)?.result
        }

        var report: ScheduledProbeReport? { self.machine.reports(at: self.now, Self.wall).first }

        static let wall = WallTime(microseconds: 1_700_000_000_000_000)
    }

    private static let silent = ProbeFailure(reason: "timed_out", party: .path, text: "no answer")
    private static let noPath = ProbeFailure(reason: "no_path", party: .mine, text: "no carrier")
    private static let status = ProbeFailure(reason: "status", party: .theirs, text: "503")
    private static let refused = ProbeFailure(reason: "connect_failed", party: .theirs, text: "refused")

    @Test("A run without a path is inconclusive, as is one beyond a dead gateway or provider; none is charged")
    func inconclusive() {
        var fixture = Fixture()
        #expect(fixture.run() == .success)
        #expect(fixture.run(Self.noPath, isGated: true) == .inconclusive)
        for party in [FaultParty.gateway, .upstream] {
            #expect(fixture.run(ProbeFailure(reason: "timed_out", party: party, text: "")) == .inconclusive)
        }
        let report = fixture.report
        #expect(report?.uptime == 1 && report?.isAnswering == true && report?.lastFailure == nil)
        #expect(report?.inconclusive?.party == .upstream && report?.counts[.inconclusive] == 3)
    }

    @Test("What an earlier process found goes on, as long as name, module and target are the same")
    func past() throws {
        var before = Fixture()
        for failure in [nil, nil, Self.status, Self.noPath] { _ = before.run(failure, isGated: failure == Self.noPath) }
        let kept = try #require(before.report?.past)
        #expect(kept.success == 2 && kept.failure == 1 && kept.inconclusive == 1)
        var (after, other) = (Fixture([]), Self.api)
        other.target = "b"
        _ = after.machine.load([Self.api, other], past: [Self.api.identity: kept], at: after.now)
        let reports = after.machine.reports(at: after.now, Fixture.wall)
        #expect(reports.map(\.uptime) == [2.0 / 3.0, nil])
        #expect(reports.map(\.since) == [Fixture.wall, nil])
        #expect(reports.first?.isAnswering == nil, "what is true now has to be asked")
    }

    @Test("A run that fails on this host says nothing of the target")
    func ownFailure() {
        var fixture = Fixture()
        #expect(fixture.run() == .success)
        let failure = ProbeFailure(reason: "connect_failed", party: .mine, text: "no descriptor is free")
        for _ in 0..<3 { #expect(fixture.run(failure, isOutage: true) == .inconclusive) }
        #expect(fixture.report?.uptime == 1 && fixture.report?.lastFailure == nil)
        #expect(fixture.report?.isAnswering == true)
        #expect(fixture.run(failure) == .failure)
    }

    @Test(
        "A fault of this host is its outage, unless the target or its name answered",
        arguments: [
            (.noMemory, true), (.connectFailed, true), (.timedOut, true), (.unreachable, true), (.notPermitted, true),
            (.fileError, true), (.internal, true), (.tlsFailed, true), (.reset, true), (.targetDenied, true),
            (.status, false), (.body, false), (.tooLarge, false), (.resolveFailed, false),
        ] as [(ProbeFailureReason, Bool)])
    func ownOutage(_ reason: ProbeFailureReason, _ isOutage: Bool) {
        for party in FaultParty.allCases {
            var findings = ProbeFindings(log: ProbeLog(module: "m", target: "a"), time: SystemClock())
            findings.fail(reason, party, "")
            #expect(findings.isOutage == (isOutage && party == .mine))
            // The first reason counts.
            findings.fail(.connectFailed, .mine, "")
            #expect(findings.isOutage == (isOutage && party == .mine))
        }
    }

    @Test("A run without a descriptor says nothing of the target, and is repeated a second later")
    func noDescriptor() {
        var fixture = Fixture()
        #expect(fixture.run() == .success)
        let failure = ProbeFailure(reason: "no_descriptor", party: .mine, text: "")
        #expect(fixture.run(failure, isOutage: true) == .inconclusive)
        #expect(fixture.report?.uptime == 1 && fixture.report?.lastFailure == nil)
        #expect(fixture.machine.deadline == fixture.now + .seconds(1))
    }

    @Test("Every other failure is charged, to whom it may be", arguments: FaultParty.allCases)
    func failures(_ party: FaultParty) {
        var fixture = Fixture()
        _ = fixture.run()
        let result = fixture.run(ProbeFailure(reason: "status", party: party, text: "500"))
        let isOutage = party == .gateway || party == .upstream
        #expect(result == (isOutage ? .inconclusive : .failure))
        #expect(fixture.report?.uptime == (isOutage ? 1 : 0.5))
    }

    @Test("What fails within the settle time after a path came back is inconclusive and repeated soon, unless answered")
    func settling() {
        var fixture = Fixture()
        // The first run is as one after an outage.
        #expect(fixture.run(Self.status) == .failure)
        #expect(fixture.run(Self.refused) == .failure)
        fixture.machine.pathChanged(.ipv4, at: fixture.now)
        let before = fixture.now
        #expect(fixture.machine.deadline.map { $0 - before } == .milliseconds(7500), "half of what was left")
        #expect(fixture.run(Self.silent) == .failure, "it has settled by then")
        fixture.machine.pathChanged(.ipv4, at: fixture.now)
        for _ in 0..<4 { fixture.machine.pathChanged(.ipv4, at: fixture.now) }
        #expect(fixture.run(Self.refused) == .inconclusive)
        let doubtful = fixture.now
        #expect(fixture.run(Self.silent) == .failure)
        #expect(fixture.now - doubtful <= .seconds(3))
    }

    @Test("After a run that found no path, the first failing one is inconclusive even if the path's return went unseen")
    func recovery() {
        var fixture = Fixture()
        _ = fixture.run()
        #expect(fixture.run(Self.noPath, isGated: true) == .inconclusive)
        #expect(fixture.run(Self.silent) == .inconclusive)
        #expect(fixture.run(Self.silent) == .failure)
    }

    @Test("A turn that comes while the probe still runs is left out and counted")
    func overrun() {
        var fixture = Fixture()
        #expect(fixture.turn() == [.run(1, Self.api)])
        #expect(fixture.turn() == [.publish(ProbeEvent(probe: "api", .overrun))])
        #expect(fixture.finish()?.result == .success)
        #expect(fixture.turn() == [.run(1, Self.api)])
        #expect(fixture.report?.overruns == 1 && fixture.report?.counts[.success] == 1)
    }

    @Test("Only what changes is news, and an outage of our own is not")
    func news() {
        var fixture = Fixture()
        var news: [Bool?] = []
        let runs: [(ProbeFailure?, Bool)] = [
            (nil, false), (Self.refused, false), (Self.refused, false), (Self.noPath, true), (Self.refused, false),
            (nil, false), (nil, false),
        ]
        for (failure, isGated) in runs {
            _ = fixture.turn()
            news.append(fixture.finish(1, failure, isGated: isGated)?.isNews)
        }
        #expect(news == [false, true, false, false, false, true, false])
    }

    @Test("Of a new configuration the same probes go on; a changed one begins anew, and what it still finds is ignored")
    func reload() {
        let other = ScheduledProbe(name: "www", module: "m", target: "b", every: .seconds(15))
        var fixture = Fixture([Self.api, other])
        #expect(fixture.run() == .success)
        var moved = other
        moved.target = "c"
        let effects = fixture.load([moved, Self.api])
        #expect(
            effects == [
                .cancel(2), .publish(ProbeEvent(probe: "www", .removed)), .publish(ProbeEvent(probe: "www", .added)),
            ])
        #expect(fixture.finish(2) == nil)
        let reports = fixture.machine.reports(at: fixture.now, Fixture.wall)
        #expect(reports.map(\.probe.name) == ["www", "api"])
        #expect(reports.map { $0.counts[.success] } == [nil, 1])
        #expect(fixture.load([]).count == 4 && fixture.machine.deadline == nil)
    }

    @Test("A thousand probes a second share its moments, and none misses a beat")
    func thousand() {
        let probes = (0..<1000).map {
            ScheduledProbe(name: "p\($0)", module: "m", target: "t", every: .seconds(1), jitter: 0)
        }
        var fixture = Fixture(probes)
        var runs = 0
        var busiest = 0
        let end = fixture.now + .milliseconds(9999)
        while let deadline = fixture.machine.deadline, deadline <= end {
            let effects = fixture.turn()
            busiest = max(busiest, effects.count)
            for case .run(let id, _) in effects {
                runs += 1
                _ = fixture.finish(id)
            }
        }
        #expect(runs == 10_000 && busiest <= 10, "\(runs) runs, \(busiest) at once")
    }
}
