internal import TidegateCore

/// What the kernel's tables say about the rungs of one family; they know nothing of the rungs behind the route.
struct KernelLadder {
    let status: ReachabilityStatus
    let family: ReachabilityStatus.Family

    func reading(of rung: Rung) -> LadderView.Reading {
        let verdict = self.family.verdict
        if verdict.level == .unknown {
            return rung == .monitor && verdict.reason == .monitorDown
                ? .init(status: .bad, values: [UnreachableReason.monitorDown.description]) : .unchecked("not read yet")
        }
        if verdict.reason?.rung == rung { return self.failure(verdict) }
        switch rung {
        case .monitor: return .init(status: .ok, values: ["\(self.status.links.count) links, \(self.status.mode)"])
        case .interface: return self.interface
        case .carrier: return self.carrier
        case .address: return self.address
        case .route: return self.route
        case .internet: return self.internet
        case .gateway, .dns, .tcp, .tls, .http: return .unchecked()
        }
    }

    private func failure(_ verdict: Verdict) -> LadderView.Reading {
        guard let reason = verdict.reason else { return .unchecked() }
        let link = VerdictDescriptions.culprit(reason, among: self.status.links)
        if reason.isLackOfConfiguration, self.status.isSetUp(besides: self.family.family) {
            return .init(status: .absent, values: [reason.description(ofLink: link?.name)])
        }
        return .init(status: .bad, values: [reason.description(ofLink: link?.name)])
    }

    /// The link of the path, or else the one that the reason is about.
    private var link: Link? {
        if let path = self.family.verdict.path {
            return self.status.links.first { $0.index == path.index }
                ?? self.status.links.first { $0.isNamed(path.interface) }
        }
        return self.family.verdict.reason.flatMap { VerdictDescriptions.culprit($0, among: self.status.links) }
            ?? self.status.links.first(where: \.isUsable)
    }

    private var interface: LadderView.Reading {
        guard let link = self.link else { return .unchecked("no interface to look at") }
        return link.isAdminUp
            ? .init(status: .ok, values: ["\(link.name), \(link.kind.word)"])
            : .init(status: .bad, values: [UnreachableReason.adminDown.description(ofLink: link.name)])
    }

    private var carrier: LadderView.Reading {
        guard let link = self.link else { return .unchecked() }
        return link.hasCarrier
            ? .init(status: .ok, values: ["\(link.name) has a carrier"])
            : .init(status: .bad, values: [UnreachableReason.noCarrier.description(ofLink: link.name)])
    }

    private var address: LadderView.Reading {
        if let source = self.family.verdict.path?.source { return .init(status: .ok, values: ["\(source)"]) }
        guard let link = self.link, link.usableFamilies.contains(self.family.family) else { return .unchecked() }
        let address = link.addresses.first { $0.address.family == self.family.family }
        return .init(status: .ok, values: [address?.description ?? "\(link.name) has one"])
    }

    private var route: LadderView.Reading {
        guard self.family.verdict.level >= .routed, let path = self.family.verdict.path else { return .unchecked() }
        return .init(
            status: .ok,
            values: [path.gateway.map { "by \($0) on \(path.interface)" } ?? "directly on \(path.interface)"])
    }

    private var internet: LadderView.Reading {
        switch self.family.verdict.level {
        case .online: .init(status: .ok, values: ["internet checks succeed"])
        case .unknown, .none, .local, .routed, .limited, .portal: .unchecked()
        }
    }
}

extension LadderView.Reading {
    fileprivate static func unchecked(_ why: String? = nil) -> Self {
        Self(status: .unchecked, values: [why ?? "not checked"])
    }
}

extension Link.Kind {
    /// The kind as people read it.
    var word: String {
        switch self {
        case .ethernet: "Ethernet"
        case .wifi: "Wi-Fi"
        case .cellular: "cellular"
        case .tunnel: "tunnel"
        case .bridge: "bridge"
        case .bond: "bond"
        case .loopback: "loopback"
        case .virtual: "virtual"
        case .other: "other"
        }
    }
}
