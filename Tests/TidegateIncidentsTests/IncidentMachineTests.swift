import Testing
import TidegateCore
import TidegateTestKit

@testable import TidegateIncidents

/// What becomes an incident, when it begins and ends, and which one it belongs to.
@Suite struct IncidentMachineTests {
    /// A machine with clocks that a test moves, and what it has stored and published.
    struct Watch {
        static let start = WallTime(microseconds: 1_790_000_000_000_000)

        var machine: IncidentMachine
        var now: IncidentMachine.Moment
        var incidents: [String: Incident] = [:]
        var spans: [String: Coverage.Span] = [:]
        var published: [String] = []

        init(left: [Incident] = [], lastBeat: WallTime? = nil, at wall: WallTime = Watch.start) {
            self.now = .init(wall: wall, monotonic: MonotonicTime(nanoseconds: 1_000_000_000), suspended: .zero)
            let numbers = Numbers(from: wall)
            self.machine = IncidentMachine(at: self.now, left: left, lastBeat: lastBeat) { _ in numbers.next() }
            self.feed(.beat)
        }

        /// The time passes, with a beat each five seconds.
        mutating func pass(_ seconds: Int64) {
            for _ in 0..<seconds / 5 { self.move(.seconds(5)) }
            self.move(.seconds(seconds % 5))
        }

        private mutating func move(_ duration: Duration) {
            (self.now.wall, self.now.monotonic) = (self.now.wall + duration, self.now.monotonic + duration)
            self.feed(.beat)
        }

        mutating func feed(_ input: IncidentMachine.Input) {
            for effect in self.machine.handle(input, at: self.now) {
                switch effect {
                case .store(.save(let incident)): self.incidents[incident.id] = incident
                case .store(.remove(let id)): self.incidents[id] = nil
                case .store(.cover(let span)): self.spans[span.id] = span
                case .publish(let kind, let incident): self.published.append("\(kind) \(incident.id)")
                }
            }
        }

        mutating func fail(_ name: String, _ party: FaultParty = .theirs, since: WallTime? = nil) {
            self.feed(.target(name, finding(party), since: since ?? self.now.wall))
        }

        mutating func reach(_ name: String) { self.feed(.target(name, nil, since: self.now.wall)) }

        mutating func loseHost(_ party: FaultParty = .upstream, since: WallTime? = nil) {
            self.feed(.host(.network, finding(party), since: since ?? self.now.wall, nil))
        }

        var sorted: [Incident] { self.incidents.values.sorted { ($0.start, $0.id) < ($1.start, $1.id) } }

        func at(_ seconds: Int64) -> WallTime { Watch.start + .seconds(seconds) }
    }

    @Test("A standby line that fails is an incident of its own, beside this host's outage, and ends with the line")
    func uplink() {
        var watch = Watch()
        watch.feed(.uplink("lan2", finding(.upstream), since: watch.at(0)))
        watch.pass(60)
        watch.loseHost()
        watch.pass(60)
        #expect(watch.sorted.map(\.scope) == [.uplink, .network])
        #expect(watch.machine.open.count == 2, "the same party, and two lines")
        watch.feed(.uplink("lan2", nil, since: watch.now.wall))
        #expect(watch.sorted.map(\.endReason) == [.recovered, nil])
        watch.feed(.uplink("lan3", finding(.mine), since: watch.now.wall))
        watch.feed(.uplinkLeft("lan3", .moved))
        #expect(watch.sorted.last?.endReason == .moved && watch.sorted.last?.subject == "uplink lan3")

        var left = Incident(id: "a", kind: .down, .uplink, name: "lan2", finding(.upstream), start: watch.at(0))
        (left.end, left.endReason) = (watch.at(100), .stopped)
        var later = Watch(left: [left], at: watch.at(200))
        later.pass(3600)
        later.feed(.uplink("lan2", finding(.upstream), since: later.now.wall))
        #expect(later.sorted.last?.continues == nil, "an hour without a failure was watched")
    }

    @Test("A failed check opens an incident from its first failure on, and a check that succeeds ends it")
    func target() throws {
        var watch = Watch()
        watch.pass(100)
        watch.fail("api", since: watch.at(97))
        #expect(watch.sorted.map(\.start) == [watch.at(97)] && watch.machine.open.count == 1)
        watch.pass(20)
        watch.fail("api", since: watch.at(97))
        watch.reach("api")
        let incident = try #require(watch.sorted.first)
        #expect(watch.incidents.count == 1 && incident.end == watch.at(120) && incident.endReason == .recovered)
        #expect(incident.downtime(at: watch.now.wall) == .seconds(23))
        #expect(watch.published == ["opened \(incident.id)", "closed \(incident.id)"])
    }

    @Test("An incident does not begin before Tidegate watched")
    func backdated() {
        var watch = Watch()
        watch.fail("api", since: watch.at(-500))
        #expect(watch.sorted.map(\.start) == [watch.at(0)])
    }

    @Test("Targets that fail for the party of this host's outage are affected by it, and have none of their own")
    func affected() throws {
        var watch = Watch()
        watch.fail("early", .upstream)
        watch.pass(1)
        watch.loseHost(since: watch.at(0))
        watch.fail("late", .upstream)
        watch.fail("other", .theirs)
        watch.feed(.probe("p", finding(.upstream)))
        watch.feed(.probeLeftOut("q"))
        watch.pass(1)
        let host = try #require(watch.incidents.values.first { $0.scope == .network })
        #expect(host.targets == ["early", "late"] && host.probes == ["p"])
        #expect(watch.sorted.compactMap(\.name) == ["other"])
        #expect(watch.machine.open[.host]?.probes == ["p", "q"])
    }

    @Test("What is slow is an incident of its own, beside outages, and takes no time from a target")
    func slow() throws {
        var watch = Watch()
        watch.reach("api")
        watch.pass(30)
        watch.feed(.slow(.network, nil, finding(.unknown), since: watch.at(20), nil))
        watch.feed(.slow(.target, "api", finding(.theirs), since: watch.at(25), nil))
        watch.pass(10)
        // More becomes known of the same trouble.
        watch.feed(.slow(.network, nil, finding(.upstream), since: watch.at(20), nil))
        watch.fail("shop", .upstream)
        watch.pass(10)
        #expect(watch.sorted.map(\.kind) == [.degraded, .degraded, .down])
        #expect(watch.sorted.map(\.subject) == ["network", "target api", "target shop"])
        #expect(watch.sorted.map(\.start) == [watch.at(20), watch.at(25), watch.at(40)])
        #expect(watch.sorted[0].finding.party == .upstream)
        watch.loseHost()
        watch.feed(.slowEnded(.network, nil, .failed))
        watch.feed(.slowEnded(.target, "api", .recovered))
        watch.reach("api")
        let ended = watch.sorted.filter { $0.kind == .degraded }
        #expect(ended.map(\.endReason) == [.failed, .recovered] && ended.map(\.end) == [watch.at(50), watch.at(50)])
        #expect(watch.machine.open.keys.filter(\.isSlow).isEmpty)
        #expect(watch.machine.totals.targets["api"]?.up == .seconds(50), "\(watch.machine.totals)")
        #expect(watch.machine.totals.targets["api"]?.down == [:])
    }

    @Test("What is slow again and again is never intermittent, and is not recovered over a restart")
    func slowAgain() throws {
        var watch = Watch()
        for _ in 0..<3 {
            watch.feed(.slow(.network, nil, finding(.upstream), since: watch.now.wall, nil))
            watch.pass(20)
            watch.feed(.slowEnded(.network, nil, .recovered))
        }
        #expect(watch.sorted.map(\.kind) == [.degraded, .degraded, .degraded])
        watch.feed(.slow(.network, nil, finding(.upstream), since: watch.now.wall, nil))
        watch.feed(.stop)
        let last = try #require(watch.sorted.last)
        #expect(last.endReason == .stopped)
        var next = Watch(left: [last], lastBeat: watch.now.wall, at: watch.at(100))
        next.loseHost()
        next.feed(.slow(.network, nil, finding(.upstream), since: next.now.wall, nil))
        #expect(next.sorted.map(\.continues) == [nil, last.id], "\(next.sorted)")
    }

    @Test("What is reported as failing after this host's outage has an incident from then on")
    func stillFails() {
        var watch = Watch()
        watch.loseHost()
        watch.fail("api", .upstream)
        watch.fail("shop", .upstream)
        watch.pass(60)
        watch.feed(.hostWorks(evidence: .null))
        watch.pass(10)
        watch.reach("shop")
        watch.fail("api", .upstream)
        #expect(watch.sorted.map(\.name) == [nil], "the network's may fail next, for the same cause")
        watch.pass(5)
        #expect(watch.sorted.map(\.start) == [watch.at(0), watch.at(60)])
        #expect(watch.sorted.map(\.name) == [nil, "api"])
    }

    @Test("A failed target waits for this host's diagnosis, unless the server is responsible")
    func waits() {
        var watch = Watch()
        watch.fail("api", .theirs)
        watch.fail("shop", .unknown)
        #expect(watch.sorted.map(\.name) == ["api"])
        watch.pass(5)
        #expect(
            Set(watch.sorted.map(\.name)) == ["api", "shop"] && watch.sorted.allSatisfy { $0.start == watch.at(0) })
    }

    @Test("A short outage of a target that waited for the diagnosis is recorded")
    func short() {
        var watch = Watch()
        watch.fail("api", .path)
        watch.pass(3)
        watch.reach("api")
        #expect(watch.sorted.map(\.end) == [watch.at(3)] && watch.sorted[0].start == watch.at(0))
    }

    @Test("A target's incident that turns out to be part of this host's is merged into it")
    func merged() {
        var watch = Watch()
        watch.fail("api", .upstream)
        watch.pass(10)
        #expect(watch.sorted.map(\.name) == ["api"])
        watch.loseHost(.upstream, since: watch.at(2))
        #expect(watch.sorted.map(\.scope) == [.network] && watch.sorted[0].targets == ["api"])
        #expect(watch.sorted[0].start == watch.at(0), "the target noticed it first")
        #expect(watch.machine.totals.targets["api"]?.down == [.upstream: .seconds(10)])
    }

    @Test("Another party closes the incident, and the next one continues it; more about an unknown party does not")
    func party() {
        var watch = Watch()
        watch.loseHost(.unknown)
        watch.pass(10)
        // The diagnosis keeps the start of what it could not explain.
        watch.loseHost(.gateway, since: watch.at(0))
        #expect(watch.incidents.count == 1 && watch.sorted[0].finding.party == .gateway)
        watch.pass(10)
        watch.loseHost(.upstream)
        #expect(watch.sorted.map(\.finding.party) == [.gateway, .upstream])
        #expect(watch.sorted[0].endReason == .partyChanged && watch.sorted[1].continues == watch.sorted[0].id)
        #expect(watch.sorted[0].end == watch.sorted[1].start)
    }

    @Test("What began after an outage of an unknown party takes no blame for the time before")
    func later() {
        var watch = Watch()
        watch.loseHost(.unknown)
        watch.pass(10)
        watch.loseHost(.mine)
        watch.pass(10)
        #expect(watch.sorted.map(\.finding.party) == [.unknown, .mine])
        #expect(watch.sorted[0].end == watch.at(10) && watch.sorted[1].start == watch.at(10))
    }

    @Test("Three drops within five minutes are one intermittent incident, which ends after three clean minutes")
    func intermittent() throws {
        var watch = Watch()
        for _ in 0..<4 {
            watch.fail("api")
            watch.pass(10)
            watch.reach("api")
            watch.pass(50)
        }
        let incident = try #require(watch.sorted.first)
        #expect(watch.incidents.count == 1 && incident.kind == .intermittent && incident.dropCount == 4)
        watch.pass(125)
        #expect(watch.machine.open.count == 1, "170 clean seconds")
        watch.pass(10)
        let ended = try #require(watch.sorted.first)
        #expect(watch.machine.open.isEmpty && ended.end == watch.at(190) && ended.endReason == .recovered)
        #expect(ended.downtime(at: watch.now.wall) == .seconds(40))
    }

    @Test("Two drops, or three in a longer time, are separate incidents")
    func separate() {
        var watch = Watch()
        for _ in 0..<5 {
            watch.fail("api")
            watch.pass(10)
            watch.reach("api")
            watch.pass(190)
        }
        #expect(watch.incidents.count == 5 && watch.incidents.values.allSatisfy { $0.kind == .down })
    }

    @Test(
        "An incident ends when the machine sleeps or the process is frozen, and what still fails afterwards continues it",
        arguments: [(3598 as Int64, Incident.EndReason.suspended), (0, .stopped)])
    func suspended(seconds: Int64, reason: Incident.EndReason) {
        var watch = Watch()
        watch.pass(60)
        watch.fail("api")
        watch.pass(60)
        watch.now.wall = watch.now.wall + .seconds(3600)
        watch.now.monotonic = watch.now.monotonic + .seconds(3600)
        watch.now.suspended = .seconds(seconds)
        watch.feed(.beat)
        #expect(watch.sorted.map(\.endReason) == [reason], "nothing has been checked yet")
        watch.fail("api")
        #expect(watch.sorted.map(\.endReason) == [reason, nil])
        #expect(watch.sorted[0].end == watch.at(120) && watch.sorted[1].start == watch.at(3720))
        #expect(watch.sorted[1].continues == watch.sorted[0].id)
        let coverage = watch.coverage(to: watch.now.wall)
        #expect(coverage.watched == .seconds(120))
        #expect((reason == .suspended ? coverage.suspended : coverage.stopped) == .seconds(3600))
    }

    @Test("A wall clock that is set moves what has not ended, and no duration", arguments: [-31_536_000, 86_400])
    func step(seconds: Int64) throws {
        var watch = Watch()
        watch.fail("api")
        watch.pass(30)
        watch.now.wall = watch.now.wall + .seconds(seconds)
        watch.feed(.beat)
        watch.pass(30)
        watch.reach("api")
        let incident = try #require(watch.sorted.first)
        #expect(incident.start == watch.at(seconds) && incident.end == watch.at(seconds + 60))
        #expect(watch.spans.count == 1 && watch.spans.values.first?.start == watch.at(seconds))
        #expect(watch.machine.totals.down.values.reduce(.zero, +) == .seconds(60))
    }

    @Test("What a killed process left open ended with its last beat, and is continued if it still fails")
    func killed() throws {
        var first = Watch()
        first.fail("api")
        first.pass(65)
        let left = Array(first.machine.open.values)
        let last = try #require(first.spans.values.first).end
        var second = Watch(left: left, lastBeat: last, at: first.now.wall + .seconds(1000))
        #expect(second.sorted.map(\.endReason) == [.stopped] && second.sorted[0].end == last)
        #expect(first.now.wall.since(last) <= .seconds(10))
        second.fail("api")
        #expect(second.sorted.count == 2 && second.sorted.last?.continues == left[0].id)
    }

    @Test("A shutdown ends what is open, and a target that recovers before the next failure is not continued")
    func stopped() {
        var first = Watch()
        first.fail("api")
        first.pass(5)
        first.feed(.stop)
        #expect(first.sorted.map(\.endReason) == [.stopped] && first.machine.open.isEmpty)
        var second = Watch(left: first.sorted, lastBeat: first.now.wall, at: first.now.wall)
        var third = second
        second.fail("api")
        #expect(second.sorted.last?.continues == first.sorted[0].id)
        third.reach("api")
        third.fail("api")
        #expect(third.sorted.map(\.continues) == [nil])
    }

    @Test("A beat is stored each minute, and each ten seconds while something is down")
    func beats() {
        var watch = Watch()
        let before = watch.machine
        var (quiet, busy) = (0, 0)
        for second in stride(from: 5, through: 600, by: 5) {
            watch.now.wall = watch.now.wall + .seconds(5)
            watch.now.monotonic = watch.now.monotonic + .seconds(5)
            if second == 305 { watch.fail("api") }
            let stored = watch.machine.handle(.beat, at: watch.now).count
            if second <= 300 { quiet += stored } else { busy += stored }
        }
        #expect(before.open.isEmpty && quiet == 5 && busy == 29)
    }

    @Test("A target's seconds up and down add up to the time that its checks cover")
    func account() {
        var watch = Watch()
        watch.reach("api")
        watch.pass(100)
        watch.reach("api")
        watch.pass(20)
        watch.fail("api", since: watch.at(110))
        watch.pass(30)
        watch.fail("api", .upstream, since: watch.at(110))
        watch.pass(10)
        watch.reach("api")
        let account = watch.machine.totals.targets["api"]
        #expect(account?.up == .seconds(110) && account?.down == [.theirs: .seconds(40), .upstream: .seconds(10)])
    }

    @Test("A diagnosis that names another party within an outage ends its incident then, not at its start")
    func partyLater() {
        var watch = Watch()
        watch.pass(10)
        watch.loseHost(.gateway, since: watch.at(5))
        watch.pass(180)
        watch.loseHost(.upstream, since: watch.at(5))
        #expect(watch.sorted.map(\.start) == [watch.at(5), watch.at(190)] && watch.sorted[0].end == watch.at(190))
    }

    @Test("Between the drops of an intermittent incident another party's outage is one of its own")
    func otherAfterFlapping() {
        var watch = Watch()
        for _ in 0..<3 {
            watch.loseHost(.gateway)
            watch.pass(10)
            watch.feed(.hostWorks(evidence: .null))
            watch.pass(20)
        }
        watch.loseHost(.upstream)
        #expect(watch.sorted.map(\.kind) == [.intermittent, .down])
        #expect(watch.sorted[0].end == watch.at(70) && watch.sorted[1].start == watch.at(90))
    }

    @Test("What nothing reports after this host's outage has no incident, nor after a stop")
    func stale() {
        var watch = Watch()
        watch.loseHost()
        watch.fail("api", .upstream)
        watch.pass(60)
        watch.feed(.hostWorks(evidence: .null))
        watch.pass(120)
        watch.feed(.stop)
        #expect(watch.sorted.map(\.scope) == [.network])
    }

    @Test("A target that fails for another party within this host's outage does so from then on, and counts once")
    func otherWithin() {
        var watch = Watch()
        watch.loseHost()
        watch.fail("api", .upstream)
        watch.pass(100)
        watch.fail("api", .theirs)
        watch.pass(50)
        #expect(watch.sorted.map(\.start) == [watch.at(0), watch.at(100)])
        #expect(watch.machine.totals.targets["api"]?.down == [.upstream: .seconds(100), .theirs: .seconds(50)])
    }

    @Test("A target and a probe of one name are two, and one that works again counts no longer")
    func names() {
        var watch = Watch()
        watch.loseHost()
        watch.feed(.probeLeftOut("web"))
        watch.fail("web", .upstream)
        watch.pass(40)
        watch.reach("web")
        watch.pass(40)
        #expect(watch.machine.open[.host]?.targets == ["web"] && watch.machine.open[.host]?.probes == ["web"])
        #expect(watch.machine.totals.targets["web"]?.down == [.upstream: .seconds(40)])
    }

    @Test("An intermittent incident has the targets, the counts and the note of all its drops")
    func merging() {
        var watch = Watch()
        for number in 0..<3 {
            watch.loseHost()
            if number == 1 { watch.fail("shop", .upstream) }
            watch.feed(.attemptFailed(.upstream))
            watch.pass(10)
            watch.feed(.hostWorks(evidence: .null))
            watch.reach("shop")
            var note = Incident.Note()
            note.text = "first"
            if number == 0 { watch.feed(.note(watch.sorted[0], note)) }
            watch.pass(20)
        }
        #expect(watch.sorted.count == 1 && watch.sorted[0].dropCount == 3)
        #expect(watch.sorted[0].targets == ["shop"] && watch.sorted[0].attempts == 3)
        #expect(watch.sorted[0].note.text == "first")
    }

    @Test("A probe that the configuration lacks from now on ends its incident, but has not recovered")
    func probeRemoved() {
        var watch = Watch()
        watch.feed(.probe("p", finding(.theirs)))
        watch.pass(10)
        watch.feed(.probeRemoved("p"))
        #expect(watch.sorted.map(\.endReason) == [.stopped])
    }

    @Test("What is stored of an incident is read again as it was")
    func stored() throws {
        var watch = Watch()
        watch.feed(
            .host(
                .gateway, finding(.gateway), since: watch.now.wall, .init(interface: "eth0", gateway: "10.0.0.1")))
        watch.fail("api", .gateway)
        watch.feed(.attemptFailed(.gateway))
        watch.feed(.connectionsFailed(.gateway, count: 3))
        watch.pass(5)
        watch.feed(.hostWorks(evidence: ["conclusion": "works"]))
        var incident = try #require(watch.sorted.first)
        (incident.note.text, incident.note.reference, incident.note.isPlanned) = ("line fault", "T-1", true)
        incident.note.reported = watch.now.wall
        #expect(incident.attempts == 1 && incident.connections == 3)
        let (text, evidence) = (incident.stored.description, incident.evidence.description)
        let read = Incident(stored: try JSONValue(parsing: text.utf8), evidence: try JSONValue(parsing: evidence.utf8))
        #expect(read == incident)
        #expect(Incident(stored: try JSONValue(parsing: "{\"id\":\"1\"}".utf8)) == nil)
    }
}

extension IncidentMachineTests.Watch {
    func coverage(to end: WallTime) -> Coverage {
        Coverage(from: Self.start, to: end, spans: Array(self.spans.values), outages: [])
    }
}
