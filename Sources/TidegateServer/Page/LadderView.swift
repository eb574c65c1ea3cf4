internal import TidegateCore

/// The ladder of one address family, as its verdict shows it.
struct LadderView {
    let family: AddressFamily
    let verdict: Verdict

    /// The status of a rung on the page.
    enum RungStatus: String {
        case ok, bad, unknown
    }

    /// From the monitor itself to the internet; the rungs above belong to single targets.
    static let rungs: [Rung] = [.monitor, .interface, .carrier, .address, .route, .gateway, .dns, .internet]

    /// The rungs with their status: below the failing one every rung holds, above it none has been checked.
    var statuses: [(rung: Rung, status: RungStatus)] {
        let failing = self.verdict.reason.map(\.rung).map { LadderView.rungs.contains($0) ? $0 : .internet }
        let failed = failing.flatMap(LadderView.rungs.firstIndex(of:))
        return LadderView.rungs.enumerated().map { position, rung in
            if let failed {
                return (rung, position < failed ? .ok : position == failed ? .bad : .unknown)
            }
            return (rung, position < self.reached ? .ok : .unknown)
        }
    }

    // Without a reason the verdict covers the route, and the internet if a check has succeeded.
    private var reached: Int {
        switch self.verdict.level {
        case .unknown, .none: 0
        case .local: 4
        case .routed, .limited, .portal: 5
        case .online: LadderView.rungs.count
        }
    }

    var html: String {
        let name = self.family.name
        let steps = self.statuses.map { rung, status in
            let reason =
                status == .bad ? self.verdict.reason.map { "<em>\(HTML.escaped($0.description))</em>" } ?? "" : ""
            return "<li class=\"\(status.rawValue)\"><span class=\"mark\" role=\"img\" "
                + "aria-label=\"\(status.label)\">\(status.mark)</span><span>\(rung.rawValue)\(reason)</span></li>"
        }
        let notes = self.verdict.notes.map(\.description).joined(separator: ", ")
        return """
            <div class="family" data-family="\(self.family.rawValue)"><h3>\(name) \(Cell.level(self.verdict.level).html)\
            <span class="via">\(HTML.escaped(self.verdict.path?.description ?? ""))</span>\
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

    fileprivate var label: String {
        switch self {
        case .ok: "holds"
        case .bad: "fails"
        case .unknown: "not checked"
        }
    }
}
