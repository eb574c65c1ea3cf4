internal import TidegateCore

/// The timeline as SVG: columns of failed requests by party, the level below them, and the time below that.
struct TimelineSVG {
    /// How far back the reader wants to look.
    enum Span: String, CaseIterable {
        case hour, day, week
    }

    let record: HistoryRecord
    let now: WallTime
    /// The current level; if no change is known, it has applied since the start.
    let current: ReachabilityLevel
    var span = Span.hour

    /// The time shown; of an hour the shortest window that covers everything that is remembered of it.
    var window: Duration {
        switch self.span {
        case .hour: [.seconds(300), .seconds(900)].first { self.recorded <= $0 } ?? .seconds(3600)
        case .day: .seconds(86_400)
        case .week: RequestHistory.quarterSpan
        }
    }

    /// How long ago the oldest thing that is remembered was.
    private var recorded: Duration {
        let requests = self.record.requests
        let earliest = [
            self.record.start, self.record.past.first?.time, requests.closed.first?.start,
            // Within its quarter of an hour the oldest failure may have been the last.
            requests.quarters.keys.min().map { RequestSlice(number: ($0 + 1) * RequestHistory.quarter).start },
        ].compactMap(\.self).min()
        return self.now.since(earliest ?? self.now)
    }

    private static let size = (width: 1200.0, bars: 72.0, band: 14.0)

    /// The failures by party over the whole window.
    var totals: [(party: FaultParty, count: Int)] {
        self.columns.reduce(into: [:]) { $0.merge($1, uniquingKeysWith: +) }.inOrder
    }

    var html: HTML {
        let (width, height) = (Int(Self.size.width), Int(Self.size.bars + 6 + Self.size.band))
        let summary = self.summary
        let picture = HTML.picture(
            "0 0 \(width) \(height)", fit: "none", label: summary, "\(self.grid)\(self.bars)\(self.band)")
        return [
            HTML("p", class: "sum", "\(summary)"),
            HTML("div", class: "chart", HTML("p", class: "most", "\(self.most)"), picture),
            HTML("p", class: "axis", self.ticks), HTML("ul", class: "legend", self.legend),
        ].joined()
    }

    /// A text version of the timeline.
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
        let count = totals.reduce(0) { $0 + $1.count }
        let clauses = [
            lost > .zero ? "no path for \(lost.shortText)" : "a path all the time",
            poor > .zero ? "internet checks failed for \(poor.shortText)" : nil,
            dark > .zero ? "nothing recorded for \(dark.shortText)" : nil,
            count == 0 ? "no failed requests" : "\(count) failed \(count == 1 ? "request" : "requests")\(failures)",
        ].compactMap(\.self)
        let window = self.window < .seconds(3600) ? self.window.shortText : self.span.rawValue
        // Nothing is known of the time before.
        let isShort = self.span != .hour && self.recorded < self.window
        let start = isShort ? ", recorded for only \(self.recorded.shortText)" : ""
        return "The last \(window)\(start): \(clauses.joined(separator: "; "))."
    }

    // MARK: Columns

    /// In slices.
    private var columnWidth: Int {
        switch self.span {
        case .hour: self.window > .seconds(900) ? 4 : 1
        case .day: Int(RequestHistory.quarter)
        case .week: Int(RequestHistory.quarter) * 4
        }
    }

    private var columns: [[FaultParty: Int]] {
        let width = self.columnWidth
        let last = RequestSlice.number(of: self.now)
        let count = Int(self.window / RequestSlice.length) / width
        var columns = Array(repeating: [FaultParty: Int](), count: count)
        func add(_ failures: [(party: FaultParty, count: Int)], of slice: Int64) {
            let back = Int(last - slice)
            let column = count - 1 - back / width
            guard back >= 0, column >= 0 else { return }
            for failure in failures { columns[column][failure.party, default: 0] += failure.count }
        }
        for slice in self.record.requests.slices { add(slice.failures.map { ($0.party, $0.count) }, of: slice.number) }
        guard self.span != .hour else { return columns }
        for (quarter, failures) in self.record.requests.quarters {
            add(failures.inOrder, of: quarter * RequestHistory.quarter + RequestHistory.quarter / 2)
        }
        return columns
    }

    private var highest: Int { self.columns.map { $0.values.reduce(0, +) }.max() ?? 0 }

    private var most: String {
        guard self.highest > 0 else { return "" }
        return "\(self.highest) failed in \((RequestSlice.length * self.columnWidth).shortText)"
    }

    private var bars: HTML {
        let columns = self.columns
        let step = Self.size.width / Double(max(1, columns.count))
        // A single failure is visible without filling the height.
        let unit = Self.size.bars / Double(max(1, self.highest))
        return columns.enumerated().compactMap { number, column in
            guard !column.isEmpty else { return nil }
            var top = Self.size.bars
            let title = column.inOrder.map { "\($0.count) \($0.party)" }.joined(separator: ", ")
            let parts = column.inOrder.map { party, count in
                let height = max(3, unit * Double(count))
                top -= height
                let box = HTML.box(Double(number) * step + 1, max(0, top), step - 2, height)
                return HTML.rect("party-\(party.rawValue)", box)
            }
            return HTML("g", HTML("title", "\(title)"), parts.joined())
        }.joined()
    }

    private var grid: HTML {
        let lines = [0.25, 0.5, 0.75].map { HTML.box($0 * Self.size.width, 0, 1, Self.size.bars) }
        let base = HTML.box(0, Self.size.bars - 0.5, Self.size.width, 1)
        return (lines + [base]).map { .rect("grid", $0) }.joined()
    }

    // MARK: The level

    // The periods of constant level; nil while no process was watching.
    private var segments: [(level: ReachabilityLevel?, start: WallTime, end: WallTime)] {
        let begin = self.now - self.window
        var points = self.record.past.map { (time: $0.time, level: $0.to) }
        let first = self.record.changes.first.map(\.from) ?? self.current
        points.append((self.record.start, self.record.hasDroppedChanges ? nil : first))
        points += self.record.changes.map { (time: $0.time, level: $0.to) }
        let ends = points.dropFirst().map(\.time) + [self.now]
        return zip(points, ends).compactMap { point, end in
            let (start, end) = (max(point.time, begin), min(end, self.now))
            return start < end ? (point.level, start, end) : nil
        }
    }

    private var band: HTML {
        self.segments.compactMap { segment in
            guard let level = segment.level else { return nil }
            let (x, end) = (self.place(of: segment.start), self.place(of: segment.end))
            let box = HTML.box(x, Self.size.bars + 6, max(1.5, end - x), Self.size.band)
            return .rect("level-\(level.rawValue)", box, title: level.word)
        }.joined()
    }

    private func place(of time: WallTime) -> Double {
        (1 - self.now.since(time).inSeconds / self.window.inSeconds) * Self.size.width
    }

    // MARK: Text

    private var legend: HTML {
        let parties = self.totals.map { entry in
            HTML("li", "\(.party(entry.party)) \(HTML("b", "\(entry.count)"))")
        }
        let present = Set(self.segments.compactMap(\.level))
        let levels = ReachabilityLevel.allCases.filter(present.contains).map { level in
            HTML("li", HTML("i", class: "band level-\(level.rawValue)"), "\(level.word)")
        }
        let failures = parties.isEmpty ? [HTML("li", class: "empty", "no failed requests")] : parties
        return (failures + levels).joined()
    }

    private var ticks: HTML {
        stride(from: 4, through: 0, by: -1).map { part in
            .time(
                self.now - self.window * part / 4, isShort: self.window > .seconds(900), hasDay: self.span != .hour)
        }.joined()
    }
}

extension [FaultParty: Int] {
    /// The counts in the standard order of the parties.
    var inOrder: [(party: FaultParty, count: Int)] {
        FaultParty.allCases.compactMap { party in self[party].map { (party, $0) } }
    }
}
