internal import TidegateCore

/// The events of the page: one entry for each cause, the latest first, of one party if one was asked for.
struct EventList {
    let groups: [EventGroup]
    let party: FaultParty?
    /// The names of tasks by their ids.
    let taskNames: [String: String]
    let now: WallTime

    /// How many entries are shown.
    static let limit = 24

    var html: String {
        let wanted = self.groups.filter { self.party == nil || $0.party == self.party }
        guard !wanted.isEmpty else {
            let text = self.party.map { "No events of \($0)." } ?? "Nothing has happened yet."
            return self.filter + "<p class=\"empty\">\(HTML.escaped(text))</p>"
        }
        let entries = wanted.prefix(EventList.limit).map(self.entry)
        return self.filter + "<ol class=\"events\">\(entries.joined())</ol>"
    }

    private var filter: String {
        let present = FaultParty.allCases.filter { party in
            party == self.party || self.groups.contains { $0.party == party }
        }
        guard !present.isEmpty else { return "" }
        let all = "<a href=\"/#news\"\(self.party == nil ? " aria-current=\"true\"" : "")>all</a>"
        let links = present.map { party in
            let current = party == self.party ? " aria-current=\"true\"" : ""
            return "<a href=\"/?party=\(party.rawValue)#news\"\(current)>\(Cell.party(party).html)</a>"
        }
        return "<p class=\"filter\">\(all)\(links.joined())</p>"
    }

    private func entry(_ group: EventGroup) -> String {
        let line = group.cause
        let name = line.task.map { "\(self.taskNames[$0] ?? "task \($0.suffix(6))"): " } ?? ""
        let times = group.count > 1 ? " <span class=\"times\">×\(group.count)</span>" : ""
        let party = group.party.map { " " + Cell.party($0).html } ?? ""
        let notes = self.notes(on: group)
        let effects =
            group.effects.isEmpty
            ? "" : "<span class=\"note\">→ \(HTML.escaped(group.effects.joined(separator: "; ")))</span>"
        return """
            <li class="\(line.tone.rawValue)">\(HTML.time(group.begin))\
            <span>\(HTML.escaped(name + line.text))\(times)\(party)\(notes)\(effects)</span></li>
            """
    }

    private func notes(on group: EventGroup) -> String {
        var notes: [String] = []
        if let end = group.end {
            notes.append("until \(HTML.time(end)) (\(end.since(group.begin).shortText))")
        } else if group.cause.rank < .requests, group.cause.tone == .bad {
            notes.append("for \(HTML.ago(group.begin, at: self.now))")
        }
        if group.count > 1 { notes.append("first \(HTML.time(group.first))") }
        return notes.isEmpty ? "" : "<span class=\"note\">\(notes.joined(separator: "; "))</span>"
    }
}
