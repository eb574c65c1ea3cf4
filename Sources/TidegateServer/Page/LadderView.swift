internal import TidegateCore

/// The ladder of this host: the measurements of each rung, with both families combined where they agree.
struct LadderView {
    /// The result for a rung.
    struct Reading: Hashable {
        var status: RungReport.Status
        /// The measured values, or why there are none.
        var values: [String]
    }

    /// A rung with its result for each family; a single entry if both agree.
    struct Step {
        let rung: Rung
        let readings: [(family: AddressFamily?, reading: Reading)]
    }

    let status: ReachabilityStatus
    /// The latest measurement, if it still describes the current state.
    let diagnosis: HostDiagnosis?

    /// From the monitor to the internet; the rungs above belong to single targets.
    static let rungs: [Rung] = [.monitor, .interface, .carrier, .address, .route, .gateway, .dns, .internet]

    var steps: [Step] {
        var absent: Set<AddressFamily> = []
        return LadderView.rungs.map { rung in
            let families = self.status.families.filter { !absent.contains($0.family) }
            let readings = families.map { (family: $0.family, reading: self.reading(of: rung, over: $0)) }
            // A family that is not configured is reported once, on the rung where it ends.
            if rung == .address || rung == .route, readings.contains(where: { $0.reading.status == .ok }) {
                absent.formUnion(readings.filter { $0.reading.status == .notApplicable }.map(\.family))
            }
            let merged = self.merged(readings.map(\.reading))
            return Step(rung: rung, readings: merged.map { [(nil, $0)] } ?? readings.map { ($0, $1) })
        }
    }

    /// True if a rung fails.
    var isBroken: Bool { self.steps.contains { $0.readings.contains { $0.reading.status == .bad } } }

    /// One reading of all families if they have the same result: a value of each, or all evidence of a failure.
    private func merged(_ readings: [Reading]) -> Reading? {
        guard let first = readings.first, Set(readings.map(\.status)).count == 1 else { return nil }
        guard first.status != .unknown, Set(readings).count > 1 else { return first }
        let values = readings.flatMap { first.status == .bad ? $0.values : Array($0.values.prefix(1)) }
        return Reading(
            status: first.status, values: values.reduce(into: []) { if !$0.contains($1) { $0.append($1) } })
    }

    var html: HTML {
        let steps = self.steps.map { step in
            HTML("li", HTML("h3", "\(step.rung.title)"), step.readings.map(self.html).joined())
        }
        return HTML("ol", class: "ladder", steps.joined())
    }

    private func html(over family: AddressFamily?, _ reading: Reading) -> HTML {
        let (style, mark, label) = reading.status.sign
        let family: HTML? = family.map { "\(HTML("b", class: "family", "\($0.name)")) " }
        return HTML(
            "div", class: "reading \(style)",
            HTML("span", class: "mark", with: ["role": "img", "aria-label": label], "\(mark)"),
            HTML("p", family, reading.values.map { HTML("span", "\($0)") }.joined()))
    }

    /// When the ladder was measured, for the heading.
    func note(at now: WallTime) -> HTML {
        guard let diagnosis = self.diagnosis else { return "from the kernel's tables; nothing was sent" }
        return "measured \(.ago(diagnosis.time, at: now)) ago"
    }

    // MARK: Readings

    private func reading(of rung: Rung, over family: ReachabilityStatus.Family) -> Reading {
        let ladder = self.diagnosis?.explanation.ladders.first { $0.family == family.family }
        let measured = ladder?.rungs.first { $0.rung == rung }.map { report in self.reading(of: report, family) }
        return measured ?? KernelLadder(status: self.status, family: family).reading(of: rung)
    }

    private func reading(of report: RungReport, _ family: ReachabilityStatus.Family) -> Reading {
        let evidence = Array(report.evidence.prefix(2))
        switch report.status {
        case .ok:
            let basis = report.basis == .implied ? ["follows from what works above it"] : []
            return Reading(status: .ok, values: evidence + basis)
        case .bad:
            if report.reason?.isLackOfConfiguration ?? false, self.status.isSetUp(besides: family.family) {
                return Reading(.notApplicable, report.reason?.description ?? "not configured")
            }
            guard evidence.isEmpty else { return Reading(status: .bad, values: evidence) }
            return Reading(.bad, report.reason?.description(ofLink: report.link) ?? "fails")
        case .unknown: return Reading(.unknown, evidence.first ?? "not checked")
        case .notApplicable: return Reading(status: .notApplicable, values: Array(evidence.prefix(1)))
        }
    }
}

extension LadderView.Reading {
    fileprivate static let unchecked = Self(.unknown, "not checked")

    fileprivate init(_ status: RungReport.Status, _ value: String) { self.init(status: status, values: [value]) }
}

extension ReachabilityStatus {
    /// True if another family is configured: then the lack of this one is not a fault.
    func isSetUp(besides family: AddressFamily) -> Bool {
        self.families.contains { $0.family != family && !($0.verdict.reason?.isLackOfConfiguration ?? false) }
    }
}

extension UnreachableReason {
    /// True if a family that is not configured also fails like this.
    var isLackOfConfiguration: Bool {
        switch self {
        case .noAddress, .linkLocalOnly, .noRoute: true
        default: false
        }
    }
}

extension RungReport.Status {
    fileprivate var sign: (style: String, mark: String, label: String) {
        switch self {
        case .ok: ("ok", "✓", "works")
        case .bad: ("bad", "✕", "fails")
        case .unknown: ("unchecked", "?", "not checked")
        case .notApplicable: ("absent", "–", "does not apply")
        }
    }
}

extension Rung {
    /// The rung as a heading.
    fileprivate var title: String {
        [.monitor: "Kernel", .dns: "Resolver"][self] ?? self.rawValue.prefix(1).uppercased() + self.rawValue.dropFirst()
    }
}

/// What the kernel's tables say about the rungs of one family; they do not cover the rungs above the route.
struct KernelLadder {
    let status: ReachabilityStatus
    let family: ReachabilityStatus.Family

    func reading(of rung: Rung) -> LadderView.Reading {
        let verdict = self.family.verdict
        if verdict.level == .unknown {
            return rung == .monitor && verdict.reason == .monitorDown
                ? .init(.bad, UnreachableReason.monitorDown.description) : .init(.unknown, "not read yet")
        }
        if verdict.reason?.rung == rung { return self.failure(verdict) }
        let path = verdict.path
        switch rung {
        case .monitor: return .init(.ok, "\(self.status.links.count) links, \(self.status.mode)")
        case .interface:
            guard let link = self.link else { return .init(.unknown, "no interface to look at") }
            return link.isAdminUp
                ? .init(.ok, "\(link.name), \(link.kind.word)")
                : .init(.bad, UnreachableReason.adminDown.description(ofLink: link.name))
        case .carrier:
            guard let link = self.link else { return .unchecked }
            return link.hasCarrier
                ? .init(.ok, "\(link.name) has a carrier")
                : .init(.bad, UnreachableReason.noCarrier.description(ofLink: link.name))
        case .address:
            if let source = path?.source { return .init(.ok, "\(source)") }
            guard let link = self.link, link.usableFamilies.contains(self.family.family) else { return .unchecked }
            let address = link.addresses.first { $0.address.family == self.family.family }
            return .init(.ok, address?.description ?? "\(link.name) has one")
        case .route:
            guard verdict.level >= .routed, let path else { return .unchecked }
            return .init(.ok, path.gateway.map { "by \($0) on \(path.interface)" } ?? "directly on \(path.interface)")
        case .internet: return verdict.level == .online ? .init(.ok, "internet checks succeed") : .unchecked
        case .gateway, .dns, .tcp, .tls, .http: return .unchecked
        }
    }

    private func failure(_ verdict: Verdict) -> LadderView.Reading {
        guard let reason = verdict.reason else { return .unchecked }
        let link = VerdictDescriptions.culprit(reason, among: self.status.links)
        let isAbsent = reason.isLackOfConfiguration && self.status.isSetUp(besides: self.family.family)
        return .init(isAbsent ? .notApplicable : .bad, reason.description(ofLink: link?.name))
    }

    /// The link of the path, or the one that the reason names.
    private var link: Link? {
        if let path = self.family.verdict.path {
            return self.status.links.first { $0.index == path.index }
                ?? self.status.links.first { $0.isNamed(path.interface) }
        }
        return self.family.verdict.reason.flatMap { VerdictDescriptions.culprit($0, among: self.status.links) }
            ?? self.status.links.first(where: \.isUsable)
    }
}

extension Link.Kind {
    /// The kind in readable form.
    var word: String { [.ethernet: "Ethernet", .wifi: "Wi-Fi"][self] ?? self.rawValue }
}
