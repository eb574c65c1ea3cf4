package import TidegateCore

/// When outages lasted: by day, and by hour of the day.
package struct IncidentProfile: Sendable, Hashable {
    /// A day, or the part of it that was asked for.
    package struct Day: Sendable, Hashable {
        package var start: WallTime
        package var end: WallTime
        package var coverage: Coverage
        /// How long it was down for each party, without maintenance.
        package var down: [FaultParty: Duration]

        /// The party that was responsible for most of the downtime; nil without any.
        package var worst: FaultParty? {
            FaultParty.allCases.max { self.down[$0] ?? .zero < self.down[$1] ?? .zero }
                .flatMap { self.down[$0] ?? .zero > .zero ? $0 : nil }
        }
    }

    /// In order, without a gap.
    package let days: [Day]
    /// The downtime in each of the 24 hours of a day.
    package let hours: [Duration]

    /// Divides the time from `start` to `end` at midnight; `offset` is how much local time is ahead of UTC.
    package init(
        _ answer: IncidentAnswer, from start: WallTime, to end: WallTime, offset: (WallTime) -> Duration
    ) {
        var (days, hours) = ([Day](), Array(repeating: Duration.zero, count: 24))
        var begin = start
        while begin < end {
            let next = min(Self.boundary(after: begin, each: 86_400, offset), end)
            let spans = answer.spans.filter { $0.start < next && begin < $0.end }
            let outages = answer.outages.filter { outage in
                outage.start < next && (outage.end.map { begin < $0 } ?? true)
            }
            func coverage(_ outages: [Coverage.Outage]) -> Coverage {
                Coverage(from: begin, to: next, spans: spans, outages: outages)
            }
            let down = Dictionary(grouping: outages, by: \.party).mapValues { coverage($0).down }
            days.append(Day(start: begin, end: next, coverage: coverage(outages), down: down))
            for outage in outages where !outage.isDegraded && !outage.isPlanned {
                var time = max(outage.start, begin)
                let last = min(outage.end ?? end, next)
                while time < last {
                    let hour = min(Self.boundary(after: time, each: 3600, offset), last)
                    let local = time.microseconds + offset(time).wholeNanoseconds / 1000
                    hours[Int(local.flooredDivision(by: 3_600_000_000).flooredRemainder(by: 24))] += hour.since(time)
                    time = hour
                }
            }
            begin = next
        }
        (self.days, self.hours) = (days, hours)
    }

    /// The next full hour or midnight; the offset may change before it.
    private static func boundary(after time: WallTime, each seconds: Int64, _ offset: (WallTime) -> Duration)
        -> WallTime
    {
        let length = seconds * 1_000_000
        let before = offset(time).wholeNanoseconds / 1000
        let local = ((time.microseconds + before).flooredDivision(by: length) + 1) * length
        let next = WallTime(microseconds: local - before)
        let moved = WallTime(microseconds: local - offset(next).wholeNanoseconds / 1000)
        return time < moved ? moved : next
    }
}
