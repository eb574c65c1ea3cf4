internal import TidegateCore

/// The timeline as SVG: columns of failed requests by party, the level below them, and the time below that.
struct TimelineSVG {
    let record: HistoryRecord
    let now: WallTime
    /// The level now; it is that since the start if no change is known.
    let current: ReachabilityLevel

    /// The time shown: the shortest window that covers everything that is remembered of the last hour.
    var window: Duration {
        let earliest = [
            self.record.start, self.record.past.first?.time,
            self.record.requests.closed.first.map { WallTime(microseconds: $0.number * 15_000_000) },
        ].compactMap(\.self).min()
        let life = self.now.since(earliest ?? self.now)
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

    var html: String {
        let (width, height) = (Int(Self.size.width), Int(Self.size.bars + 6 + Self.size.band))
        let summary = HTML.escaped(self.summary)
        return """
            <p class="sum">\(summary)</p><div class="chart"><p class="most">\(self.most)</p>\
            <svg viewBox="0 0 \(width) \(height)" preserveAspectRatio="none" role="img" aria-label="\(summary)">\
            \(self.grid)\(self.bars)\(self.band)</svg></div>\
            <p class="axis">\(self.ticks)</p><ul class="legend">\(self.legend)</ul>
            """
    }

    /// The timeline in words.
    var summary: String {
        let segments = self.segments
        func time(_ isMeant: (ReachabilityLevel?) -> Bool) -> Duration {
            segments.filter { isMeant($0.level) }.reduce(.zero) { $0 + $1.end.since($1.start) }
        }
        let lost = time { level in level.map { $0 < .routed && $0 != .unknown } ?? false }
        let poor = time { $0 == .limited || $0 == .portal }
        let dark = time { $0 == nil }
        let totals = self.totals
        let failures =
            totals.count == 1
            ? ", " + (totals[0].count == 1 ? "" : "all ") + "\(totals[0].party)"
            : ": " + totals.map { "\($0.count) \($0.party)" }.joined(separator: ", ")
        let count = self.totals.reduce(0) { $0 + $1.count }
        let clauses = [
            lost > .zero ? "no path for \(lost.shortText)" : "a path all the time",
            poor > .zero ? "internet checks failed for \(poor.shortText)" : nil,
            dark > .zero ? "nothing recorded for \(dark.shortText)" : nil,
            count == 0 ? "no failed requests" : "\(count) failed \(count == 1 ? "request" : "requests")\(failures)",
        ].compactMap(\.self)
        let window = self.window == .seconds(3600) ? "hour" : self.window.shortText
        return "The last \(window): \(clauses.joined(separator: "; "))."
    }

    // MARK: Columns

    private var columnWidth: Int { Self.slicesPerColumn[self.window] ?? 4 }

    private var columns: [[Int]] {
        let width = self.columnWidth
        let last = RequestSlice.number(of: self.now)
        let count = Int(self.window / RequestSlice.length) / width
        var columns = Array(repeating: Array(repeating: 0, count: FaultParty.allCases.count), count: count)
        for slice in self.record.requests.slices {
            let back = Int(last - slice.number)
            let column = count - 1 - back / width
            guard back >= 0, column >= 0 else { continue }
            for failure in slice.failures {
                guard let position = FaultParty.allCases.firstIndex(of: failure.party) else { continue }
                columns[column][position] += failure.count
            }
        }
        return columns
    }

    private var highest: Int { self.columns.map { $0.reduce(0, +) }.max() ?? 0 }

    private var most: String {
        guard self.highest > 0 else { return "" }
        return "\(self.highest) failed in \((RequestSlice.length * self.columnWidth).shortText)"
    }

    private var bars: String {
        let columns = self.columns
        let step = Self.size.width / Double(max(1, columns.count))
        // A single failure is visible without filling the height.
        let unit = Self.size.bars / Double(max(1, self.highest))
        return columns.enumerated().map { number, column in
            let shares = zip(FaultParty.allCases, column).filter { $0.1 > 0 }
            guard !shares.isEmpty else { return "" }
            var top = Self.size.bars
            let title = shares.map { "\($0.1) \($0.0)" }.joined(separator: ", ")
            let parts = shares.map { party, count in
                let height = max(3, unit * Double(count))
                top -= height
                let box = self.box(Double(number) * step + 1, max(0, top), step - 2, height)
                return "<rect class=\"party-\(party.rawValue)\" \(box)/>"
            }
            return "<g><title>\(HTML.escaped(title))</title>\(parts.joined())</g>"
        }.joined()
    }

    private var grid: String {
        let lines = [0.25, 0.5, 0.75].map { self.box($0 * Self.size.width, 0, 1, Self.size.bars) }
        let base = self.box(0, Self.size.bars - 0.5, Self.size.width, 1)
        return (lines + [base]).map { "<rect class=\"grid\" \($0)/>" }.joined()
    }

    // MARK: The level

    // The times without a change of level; nil where nothing was watching.
    private var segments: [(level: ReachabilityLevel?, start: WallTime, end: WallTime)] {
        let begin = self.now - self.window
        var points = self.record.past.map { (time: $0.time, level: $0.to) }
        points.append((self.record.start, self.record.changes.first.map(\.from) ?? self.current))
        points += self.record.changes.map { (time: $0.time, level: $0.to) }
        let ends = points.dropFirst().map(\.time) + [self.now]
        return zip(points, ends).compactMap { point, end in
            let (start, end) = (max(point.time, begin), min(end, self.now))
            return start < end ? (point.level, start, end) : nil
        }
    }

    private var band: String {
        self.segments.compactMap { segment in
            guard let level = segment.level else { return nil }
            let (x, end) = (self.place(of: segment.start), self.place(of: segment.end))
            let box = self.box(x, Self.size.bars + 6, max(1.5, end - x), Self.size.band)
            return "<rect class=\"level-\(level.rawValue)\" \(box)><title>\(HTML.escaped(level.word))</title></rect>"
        }.joined()
    }

    private func place(of time: WallTime) -> Double {
        (1 - self.now.since(time).inSeconds / self.window.inSeconds) * Self.size.width
    }

    // MARK: Words

    private var legend: String {
        let parties = self.totals.map { entry in
            "<li>\(Cell.party(entry.party).html) <b>\(entry.count)</b></li>"
        }
        let present = Set(self.segments.compactMap(\.level))
        let levels = ReachabilityLevel.allCases.filter(present.contains).map { level in
            "<li><i class=\"band level-\(level.rawValue)\"></i>\(HTML.escaped(level.word))</li>"
        }
        let failures = parties.isEmpty ? ["<li class=\"empty\">no failed requests</li>"] : parties
        return (failures + levels).joined()
    }

    private var ticks: String {
        stride(from: 4, through: 0, by: -1).map { part in
            let time = self.now - self.window * part / 4
            return HTML.time(time, isShort: self.window > .seconds(900))
        }.joined()
    }

    private func box(_ x: Double, _ y: Double, _ width: Double, _ height: Double) -> String {
        let numbers = [x, y, width, height].map { String((max(0, $0) * 10).rounded() / 10) }
        return "x=\"\(numbers[0])\" y=\"\(numbers[1])\" width=\"\(numbers[2])\" height=\"\(numbers[3])\""
    }
}
