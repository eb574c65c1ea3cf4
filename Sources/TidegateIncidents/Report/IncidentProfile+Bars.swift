package import TidegateCore

/// The downtime of days, and of the hours of a day, as bars in SVG.
extension IncidentProfile {
    private static let size = (width: 1200.0, height: 64.0)

    /// A bar for each day: not watched on top, what was up below it, and the downtime in the colour of its worst party.
    package func dayBars(_ name: (WallTime) -> String = { String($0.description.prefix(10)) }) -> HTML {
        let step = Self.size.width / Double(max(1, self.days.count))
        let bars = self.days.enumerated().map { number, day in
            HTML(
                "g", HTML("title", "\(name(day.start)): \(self.title(of: day))"),
                self.bar(day, at: Double(number) * step, step))
        }
        return self.picture(bars, label: "Downtime by day")
    }

    private func bar(_ day: Day, at x: Double, _ step: Double) -> HTML {
        let length = day.end.since(day.start).inSeconds
        let height = Self.size.height
        let watched = day.coverage.watched.inSeconds / length
        let share = day.coverage.watched > .zero ? day.coverage.down.inSeconds / day.coverage.watched.inSeconds : 0
        // A short outage must not vanish.
        let down = share > 0 ? max(0.12, share) * height * watched : 0
        let (left, width) = (x + step * 0.08, step * 0.84)
        let dark = height * (1 - watched)
        let parts = [
            dark > 0.5 ? Self.hatched(at: left + width / 2, width, dark) : nil,
            .rect("fine", HTML.box(left, dark, width, height - dark - down)),
            day.worst.map { .rect("party-\($0.rawValue)", HTML.box(left, height - down, width, down)) },
        ]
        return parts.compactMap(\.self).joined()
    }

    private func title(of day: Day) -> String {
        let parties = FaultParty.allCases.compactMap { party -> String? in
            guard let time = day.down[party], time > .zero else { return nil }
            return "down \(time.shortText) (\(party))"
        }
        let dark = day.coverage.stopped + day.coverage.suspended
        let states = parties.isEmpty && day.coverage.watched > .zero ? ["no downtime"] : parties
        return (states + (dark >= .seconds(60) ? ["not watched \(dark.shortText)"] : [])).joined(separator: ", ")
    }

    /// A bar for each hour of the day, the highest one at full height.
    var hourBars: HTML {
        let most = max(.seconds(1), self.hours.max() ?? .zero).inSeconds
        let step = Self.size.width / 24
        let bars = self.hours.enumerated().map { hour, time in
            let height = time > .zero ? max(2, time.inSeconds / most * Self.size.height) : 0
            let box = HTML.box(Double(hour) * step + step * 0.08, Self.size.height - height, step * 0.84, height)
            return HTML.rect("miss", box, title: "\(hour):00 to \(hour):59: down \(time.shortText)")
        }
        return self.picture(bars, label: "Downtime by hour of the day")
    }

    /// The parties that the bars show, with their colours.
    package var legend: HTML? {
        let parties = FaultParty.allCases.filter { party in self.days.contains { $0.worst == party } }
        return parties.map { HTML("li", .party($0)) }.joined(in: "ul", class: "legend")
    }

    private func picture(_ bars: [HTML], label: String) -> HTML {
        let (width, height) = (Int(Self.size.width), Int(Self.size.height))
        let base = HTML.rect("grid", [0, height, width, 1])
        return .picture(
            class: "bars", "0 0 \(width) \(height + 1)", fit: "none", label: label, "\(bars.joined())\(base)")
    }

    // A thick dashed line: a pattern would need a reference, which the page's policy has no exception for.
    private static func hatched(at x: Double, _ width: Double, _ height: Double) -> HTML {
        let (place, end) = ((x * 10).rounded() / 10, (height * 10).rounded() / 10)
        return HTML(
            "path", class: "gap", with: ["d": "M\(place) 0V\(end)", "stroke-width": "\((width * 10).rounded() / 10)"])
    }
}
