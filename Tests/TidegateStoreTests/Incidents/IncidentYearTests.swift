import GRDB
import Testing
import TidegateCore
import TidegateTestKit

@testable import TidegateIncidents
@testable import TidegateStore

/// A year of faults, suspensions, set clocks, and processes that are killed or frozen: the sums are those of a model that paints seconds.
@Suite struct IncidentYearTests {
    @Test("After 1,000 kills and 10,000 outages the sums are the model's, and all of the time is accounted for")
    func year() throws {
        var world = try World(seed: 1)
        try world.run(kills: 1000, outages: 10_000)
        for name in ["network", "api", "shop"] {
            let wanted = world.model.sums(of: name)
            let answer = try world.answer(name == "network" ? nil : name)
            let coverage = answer.coverage(from: World.start, to: world.wall)
            #expect(coverage.down == wanted.down, "\(name)")
            #expect(coverage.watched == wanted.watched && coverage.suspended == wanted.suspended)
            #expect(
                answer.incidents.allSatisfy { $0.end != nil } && answer.totals.values.reduce(0) { $0 + $1.count } > 3000
            )
            let up = coverage.watched - coverage.down - coverage.degraded - coverage.planned
            let parts = [up, coverage.down, coverage.degraded, coverage.planned, coverage.suspended, coverage.stopped]
            #expect(parts.reduce(.zero, +) == world.wall.since(World.start))
            let profile = IncidentProfile(answer, from: World.start, to: world.wall) { _ in .seconds(3600) }
            #expect(profile.days.reduce(.zero) { $0 + $1.coverage.down } == wanted.down)
            #expect(profile.days.reduce(.zero) { $0 + $1.coverage.watched } == wanted.watched)
        }
        #expect(world.counted == world.model.counted, "what the metrics have counted until each process ended")
    }
}

/// What happens in the year, to the machine and to the model.
private struct World {
    static let start = WallTime(microseconds: 1_790_000_000_000_000)

    var model = Model()
    private var random: Random
    private let database: DatabaseQueue
    private var machine: IncidentMachine
    private var now: IncidentMachine.Moment
    private var beat: WallTime
    // Written together: a transaction for each beat of a year would take a minute.
    private var unwritten: [IncidentChange] = []
    private(set) var counted = Duration.zero
    private var host: FaultParty?
    private var isShopDown = false
    private let numbers: Numbers

    var wall: WallTime { self.now.wall }

    init(seed: UInt64) throws {
        (self.random, self.numbers) = (Random(state: seed), Numbers(from: World.start))
        self.database = try DatabaseQueue()
        try self.database.write { try $0.execute(sql: IncidentRow.schema) }
        self.now = .init(wall: Self.start, monotonic: MonotonicTime(nanoseconds: 1_000_000_000), suspended: .zero)
        self.beat = Self.start
        self.machine = IncidentMachine(at: self.now) { [numbers] _ in numbers.next() }
        self.model.begin(at: self.now)
        try self.feed(.beat)
    }

    /// Events at random times of a year.
    mutating func run(kills: Int, outages: Int) throws {
        var left = (kills: kills, outages: outages, suspends: 1000, freezes: 200, steps: 100)
        while left.kills + left.outages > 0 {
            try self.pass(self.random.next(upTo: 10) < 2 ? self.random.next(upTo: 60) : self.random.next(upTo: 3200))
            switch self.random.next(upTo: 120) {
            case 0..<8 where left.kills > 0:
                left.kills -= 1
                try self.kill()
            case 8..<16 where left.suspends > 0:
                left.suspends -= 1
                try self.suspend()
            case 16 where left.steps > 0:
                left.steps -= 1
                try self.setClock()
            case 17..<20 where left.freezes > 0:
                left.freezes -= 1
                try self.freeze()
            case 17..<70:
                left.outages = max(0, left.outages - (self.host == nil ? 1 : 0))
                try self.changeHost()
            default:
                left.outages = max(0, left.outages - (self.isShopDown ? 0 : 1))
                try self.changeShop()
            }
        }
        try self.feed(.stop)
        self.model.end(beat: self.wall)
        self.count()
    }

    // The last beat before an event is at any time of the beat's period.
    private mutating func pass(_ seconds: Int64) throws {
        var left = seconds
        let rest = min(left, self.random.next(upTo: self.machine.open.isEmpty ? 60 : 10))
        while left > rest {
            let step = min(left - rest, 60)
            self.move(step)
            try self.feed(.beat)
            left -= step
        }
        self.move(left)
    }

    private mutating func move(_ seconds: Int64) {
        self.now.wall += .seconds(seconds)
        self.now.monotonic = self.now.monotonic + .seconds(seconds)
    }

    private mutating func feed(_ input: IncidentMachine.Input) throws {
        let changes = self.machine.handle(input, at: self.now).compactMap { effect -> IncidentChange? in
            if case .store(let change) = effect { change } else { nil }
        }
        self.model.input(at: self.now)
        for case .cover(let span) in changes where span.state == .watched {
            self.beat = span.end
            if case .cover(let last)? = self.unwritten.last, last.id == span.id { self.unwritten.removeLast() }
        }
        self.unwritten += changes
    }

    private mutating func write() throws {
        try self.database.write { [unwritten] database in for change in unwritten { try change.apply(to: database) } }
        self.unwritten = []
    }

    /// The way out fails or works again, and with it the target "api".
    private mutating func changeHost() throws {
        if self.host != nil {
            self.host = nil
            try self.feed(.hostWorks(evidence: .null))
            try self.feed(.target("api", nil, since: self.wall))
        } else {
            self.host = [.mine, .gateway, .upstream][Int(self.random.next(upTo: 3))]
            try self.report()
        }
        self.model.set("network", isDown: self.host != nil, at: self.wall)
        self.model.set("api", isDown: self.host != nil, at: self.wall)
    }

    /// The target "shop" fails by itself.
    private mutating func changeShop() throws {
        self.isShopDown.toggle()
        try self.report()
        self.model.set("shop", isDown: self.isShopDown, at: self.wall)
    }

    private mutating func report() throws {
        if let host {
            try self.feed(.host(.network, finding(host), since: self.wall, nil))
            try self.feed(.target("api", finding(host), since: self.wall))
        } else {
            try self.feed(.target("api", nil, since: self.wall))
        }
        try self.feed(.target("shop", self.isShopDown ? finding(.theirs) : nil, since: self.wall))
    }

    private mutating func kill() throws {
        self.count()
        self.model.end(beat: self.beat)
        self.move(self.random.next(upTo: 3000) + 1)
        try self.write()
        let left = try self.database.read { try IncidentRow.left(in: $0) }
        self.machine = IncidentMachine(at: self.now, left: left.incidents, lastBeat: left.lastBeat) {
            [numbers] _ in numbers.next()
        }
        self.model.begin(at: self.now)
        try self.feed(.beat)
        try self.report()
        if self.host != nil { for name in ["network", "api"] { self.model.set(name, isDown: true, at: self.wall) } }
        if self.isShopDown { self.model.set("shop", isDown: true, at: self.wall) }
    }

    private mutating func suspend() throws {
        let seconds = self.random.next(upTo: 30_000) + 5
        self.now.wall += .seconds(seconds)
        self.now.suspended += .seconds(seconds)
        self.model.suspend(to: self.now)
        try self.feed(.beat)
        // Checks run again after a sleep.
        try self.report()
    }

    /// The process does not run for a while.
    private mutating func freeze() throws {
        self.move(self.random.next(upTo: 5000) + 61)
        self.model.resume(at: self.now)
        try self.feed(.beat)
        try self.report()
    }

    private mutating func setClock() throws {
        let seconds = self.random.next(upTo: 7200) - 3600
        guard abs(seconds) > 1 else { return }
        try self.feed(.beat)
        self.now.wall += .seconds(seconds)
        self.model.move(by: seconds)
        try self.feed(.beat)
    }

    private mutating func count() { self.counted += self.machine.totals.down.values.reduce(.zero, +) }

    mutating func answer(_ name: String? = nil) throws -> IncidentAnswer {
        var question = IncidentQuestion()
        (question.name, question.limit) = (name, .max)
        try self.write()
        return try self.database.read { [wall] database in
            try IncidentRow.answer(question, at: wall, in: database)
        }
    }
}

/// What is wanted, by sweeping over the boundaries of all periods: no second counts twice.
private struct Model {
    struct Sums { var watched, suspended, down: Duration }

    private var watched: [Range<Int64>] = []
    private var suspended: [Range<Int64>] = []
    private var down: [String: [Range<Int64>]] = [:]
    private var open: [String: Int64] = [:]
    private var from: Int64 = 0
    private var lastEnd: Int64?
    private var last: (wall: Int64, monotonic: MonotonicTime) = (0, MonotonicTime(nanoseconds: 0))
    private(set) var counted = Duration.zero

    mutating func begin(at now: IncidentMachine.Moment) {
        (self.from, self.lastEnd) = (now.wall.microseconds, nil)
        self.last = (now.wall.microseconds, now.monotonic)
    }

    // What is down in itself has incidents; "api" is affected by those of the network.
    mutating func input(at now: IncidentMachine.Moment) {
        self.counted += (now.monotonic - self.last.monotonic) * self.open.keys.count { $0 != "api" }
        self.last = (now.wall.microseconds, now.monotonic)
    }

    mutating func set(_ name: String, isDown: Bool, at time: WallTime) {
        if isDown {
            self.open[name] = time.microseconds
        } else {
            self.close(name, at: time.microseconds)
            self.lastEnd = time.microseconds
        }
    }

    private mutating func close(_ name: String, at time: Int64) {
        guard let start = self.open.removeValue(forKey: name), start < time else { return }
        self.down[name, default: []].append(start..<time)
    }

    private mutating func watch(until time: Int64) {
        if self.from < time { self.watched.append(self.from..<time) }
    }

    /// What was seen since the last beat is lost.
    mutating func end(beat: WallTime) {
        self.watch(until: beat.microseconds)
        for name in self.open.keys { self.close(name, at: beat.microseconds) }
    }

    mutating func suspend(to wake: IncidentMachine.Moment) {
        self.suspended.append(self.last.wall..<wake.wall.microseconds)
        self.resume(at: wake)
    }

    mutating func resume(at wake: IncidentMachine.Moment) {
        self.watch(until: self.last.wall)
        let names = Array(self.open.keys)
        for name in names { self.close(name, at: self.last.wall) }
        self.begin(at: wake)
        for name in names { self.open[name] = wake.wall.microseconds }
    }

    mutating func move(by seconds: Int64) {
        let step = seconds * 1_000_000
        if let lastEnd {
            self.watch(until: lastEnd)
            (self.from, self.lastEnd) = (lastEnd, nil)
        }
        self.from += step
        self.open = self.open.mapValues { $0 + step }
    }

    func sums(of name: String) -> Sums {
        var edges: [(time: Int64, period: Int, change: Int)] = []
        for (period, ranges) in [self.watched, self.suspended, self.down[name] ?? []].enumerated() {
            for range in ranges { edges += [(range.lowerBound, period, 1), (range.upperBound, period, -1)] }
        }
        var (depth, sums, before) = ([0, 0, 0], [0, 0, 0] as [Int64], Int64(0))
        for edge in edges.sorted(by: { $0.time < $1.time }) {
            let time = edge.time - before
            if depth[0] > 0 { sums[0] += time }
            if depth[1] > 0, depth[0] == 0 { sums[1] += time }
            if depth[0] > 0, depth[2] > 0 { sums[2] += time }
            depth[edge.period] += edge.change
            before = edge.time
        }
        return Sums(
            watched: .microseconds(sums[0]), suspended: .microseconds(sums[1]), down: .microseconds(sums[2]))
    }
}

/// SplitMix64, so that a year can be repeated.
private struct Random {
    var state: UInt64

    mutating func next(upTo limit: Int64) -> Int64 {
        self.state &+= 0x9E37_79B9_7F4A_7C15
        var bits = self.state
        bits = (bits ^ (bits >> 30)) &* 0xBF58_476D_1CE4_E5B9
        bits = (bits ^ (bits >> 27)) &* 0x94D0_49BB_1331_11EB
        return Int64((bits ^ (bits >> 31)) % UInt64(limit))
    }
}
