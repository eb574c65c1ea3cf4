internal import TidegateCore

/// What a reader of the page has chosen to see; its links need no script.
struct PageChoice: Hashable {
    /// The party whose events are shown; nil for all.
    var party: FaultParty?
    var span = TimelineSVG.Span.hour

    /// A link to this choice in a section, which is the current one or not.
    func link(_ text: HTML, section: String, isCurrent: Bool) -> HTML {
        let values = [
            self.party.map { "party=\($0.rawValue)" }, self.span == .hour ? nil : "span=\(self.span.rawValue)",
        ].compactMap(\.self)
        let query = values.isEmpty ? "" : "?\(values.joined(separator: "&"))"
        return HTML("a", with: ["href": "/\(query)#\(section)", "aria-current": isCurrent ? "true" : nil], text)
    }
}

extension PageChoice {
    /// The choice of a request's target; what is unknown in it is left out.
    init(target: String) {
        let query = QueryParameters(target: target)
        self.init(
            party: query.values(of: "party").first.flatMap(FaultParty.init(rawValue:)),
            span: query.values(of: "span").first.flatMap(TimelineSVG.Span.init(rawValue:)) ?? .hour)
    }
}
