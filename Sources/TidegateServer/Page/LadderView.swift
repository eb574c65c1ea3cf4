internal import TidegateCore

/// A family's way out, rung by rung, as far as its verdict tells.
struct LadderView {
    let family: AddressFamily
    let verdict: Verdict

    /// How a rung of the page stands.
    enum RungStatus: String {
        case ok, bad, unknown
    }

    /// From the monitor itself to the internet; what is above belongs to single targets.
    static let rungs: [Rung] = [.monitor, .interface, .carrier, .address, .route, .gateway, .dns, .internet]

    /// The rungs with their standing: below the one that fails all hold, above it nobody has looked.
    var standings: [(rung: Rung, standing: RungStatus)] {
        let failing = self.verdict.reason.map(\.rung).map { LadderView.rungs.contains($0) ? $0 : .internet }
        let failed = failing.flatMap(LadderView.rungs.firstIndex(of:))
        return LadderView.rungs.enumerated().map { position, rung in
            if let failed {
                return (rung, position < failed ? .ok : position == failed ? .bad : .unknown)
            }
            return (rung, position < self.reached ? .ok : .unknown)
        }
    }

    // A verdict without a reason is routed or better: the route is what it looked at, the internet what a check saw.
    private var reached: Int {
        switch self.verdict.level {
        case .unknown, .none: 0
        case .local: 4
        case .routed, .limited, .portal: 5
        case .online: LadderView.rungs.count
        }
    }

    var html: String {
        let name = self.family == .ipv4 ? "IPv4" : "IPv6"
        let steps = self.standings.map { rung, standing in
            let reason = standing == .bad ? self.verdict.reason.map { "<em>\(HTML.escaped($0.words))</em>" } ?? "" : ""
            return "<li class=\"\(standing.rawValue)\"><span class=\"mark\" role=\"img\" "
                + "aria-label=\"\(standing.spoken)\">\(standing.mark)</span><span>\(rung.rawValue)\(reason)</span></li>"
        }
        let notes = self.verdict.notes.map(\.description).joined(separator: ", ")
        return """
            <div class="family" data-family="\(self.family.rawValue)"><h3>\(name) \(Cell.level(self.verdict.level).html)\
            <span class="via">\(HTML.escaped(self.verdict.path?.words ?? ""))</span>\
            <span class="via">\(HTML.escaped(notes))</span></h3>\
            <ol class="ladder">\(steps.joined())</ol></div>
            """
    }
}

extension LadderView.RungStatus {
    fileprivate var mark: String {
        switch self {
        case .ok: "✓"
        case .bad: "✕"
        case .unknown: "·"
        }
    }

    fileprivate var spoken: String {
        switch self {
        case .ok: "holds"
        case .bad: "fails"
        case .unknown: "not looked at"
        }
    }
}
