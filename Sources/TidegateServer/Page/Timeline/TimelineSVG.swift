internal import TidegateCore

/// The timeline as SVG: at most sixty columns of failed requests, and the level below them.
struct TimelineSVG {
    let timeline: Timeline
    let now: MonotonicTime
    let wall: WallTime

    /// The time shown: the shortest window that covers everything since the start.
    var window: Duration {
        let life = self.now - self.timeline.start
        let windows: [Duration] = [.seconds(300), .seconds(900), .seconds(3600)]
        return windows.first { life <= $0 } ?? .seconds(3600)
    }

    private static let size = (width: 1200.0, bars: 72.0, band: 14.0)
    private static let slicesPerColumn = [Duration.seconds(300): 1, .seconds(900): 1, .seconds(3600): 4]

    /// The failures by party in the whole window.
    var totals: [(party: FaultParty, count: Int)] {
        let sums = self.columns.reduce(into: Array(repeating: 0, count: FaultParty.allCases.count)) { sums, column in
            for (position, count) in column.enumerated() { sums[position] += count }
        }
        return zip(FaultParty.allCases, sums).filter { $0.1 > 0 }.map { (party: $0.0, count: $0.1) }
    }

    func html(current: ReachabilityLevel) -> String {
        let (width, height) = (Int(Self.size.width), Int(Self.size.bars + 6 + Self.size.band))
        let summary = HTML.escaped(self.summary(current: current))
        return """
            <svg viewBox="0 0 \(width) \(height)" preserveAspectRatio="none" role="img" aria-label="\(summary)">\
            \(self.grid)\(self.bars)\(self.band(current: current))</svg>\
            <p class="axis"><span>\(self.clock(self.wall - self.window))</span>\
            <span>\(self.clock(self.wall - self.window / 2))</span><span>\(self.clock(self.wall)) UTC</span></p>\
            <ul class="legend">\(self.legend)</ul>
            """
    }

    /// The timeline as a sentence, for screen readers.
    func summary(current: ReachabilityLevel) -> String {
        let failures = self.totals.map { "\($0.count) \($0.party)" }.joined(separator: ", ")
        let lost = self.segments(current: current).filter { $0.level < .routed && $0.level != .unknown }
            .reduce(Duration.zero) { $0 + ($1.start - $1.end) }
        let path = lost > .zero ? "no route to the internet for \(lost.shortText)" : "no outage"
        let requests = failures.isEmpty ? "no failed requests" : "failed requests: \(failures)"
        return "The last \(self.window.shortText): \(path); \(requests)."
    }

    // MARK: Drawing

    private var columns: [[Int]] {
        let width = Self.slicesPerColumn[self.window] ?? 4
        let last = Timeline.slice(of: self.now)
        let count = Int(self.window / Timeline.sliceLength) / width
        let empty = Array(repeating: 0, count: FaultParty.allCases.count)
        return (0..<count).map { column in
            (0..<width).reduce(into: empty) { sums, part in
                let back = UInt64((count - 1 - column) * width + (width - 1 - part))
                guard back <= last else { return }
                for (position, failures) in self.timeline.failures(in: last - back).enumerated() {
                    sums[position] += failures
                }
            }
        }
    }

    private var grid: String {
        [0.25, 0.5, 0.75].map { "<rect class=\"grid\" \(self.box($0 * Self.size.width, 0, 1, Self.size.bars))/>" }
            .joined()
    }

    private var bars: String {
        let columns = self.columns
        let highest = max(1, columns.map { $0.reduce(0, +) }.max() ?? 1)
        let step = Self.size.width / Double(max(1, columns.count))
        // The last slice has not ended: its missing part lies beyond the right edge and is cut off.
        let slice = Timeline.sliceLength.inSeconds
        let passed = Double(self.now.nanoseconds) / 1e9
        let ahead = (slice - passed.truncatingRemainder(dividingBy: slice)) / self.window.inSeconds * Self.size.width
        // A single failure is visible without filling the height.
        let unit = min(Self.size.bars / Double(highest), 18)
        return columns.enumerated().map { number, column in
            var top = Self.size.bars
            return zip(FaultParty.allCases, column).filter { $0.1 > 0 }.map { party, count in
                let height = max(3, unit * Double(count))
                top -= height
                let box = self.box(Double(number) * step + 1 + ahead, max(0, top), step - 2, height)
                return "<rect class=\"party-\(party.rawValue)\" \(box)/>"
            }.joined()
        }.joined()
    }

    private func band(current: ReachabilityLevel) -> String {
        let total = self.window.inSeconds
        return self.segments(current: current).map { segment in
            let x = (1 - segment.start.inSeconds / total) * Self.size.width
            let width = (segment.start - segment.end).inSeconds / total * Self.size.width
            let box = self.box(x, Self.size.bars + 6, max(1.5, width), Self.size.band)
            return "<rect class=\"level-\(segment.level.rawValue)\" \(box)/>"
        }.joined()
    }

    /// A time without a change of level; both ends as the time until now.
    private struct TimelineSegment {
        let level: ReachabilityLevel
        let start: Duration
        let end: Duration
    }

    // Nothing is drawn for the time before the process started.
    private func segments(current: ReachabilityLevel) -> [TimelineSegment] {
        var start = min(self.window, self.now - self.timeline.start)
        let begin = self.now + (.zero - start)
        return self.timeline.levels(from: begin, to: self.now, current: current).map { level, until in
            let end = self.now - until
            defer { start = end }
            return TimelineSegment(level: level, start: start, end: end)
        }
    }

    private var legend: String {
        let entries = self.totals.map { entry in
            "<li><i class=\"party-\(entry.party.rawValue)\"></i>\(HTML.escaped(entry.party.description)) "
                + "<b>\(entry.count)</b></li>"
        }
        return entries.isEmpty ? "<li class=\"empty\">No failed requests.</li>" : entries.joined()
    }

    private func box(_ x: Double, _ y: Double, _ width: Double, _ height: Double) -> String {
        let numbers = [x, y, width, height].map { String((max(0, $0) * 10).rounded() / 10) }
        return "x=\"\(numbers[0])\" y=\"\(numbers[1])\" width=\"\(numbers[2])\" height=\"\(numbers[3])\""
    }

    private func clock(_ wall: WallTime) -> String {
        "<time datetime=\"\(wall)\">\(wall.clockTime.dropLast(self.window > .seconds(900) ? 3 : 0))</time>"
    }
}

private func - (time: WallTime, duration: Duration) -> WallTime {
    WallTime(microseconds: time.microseconds - duration.wholeNanoseconds / 1000)
}
