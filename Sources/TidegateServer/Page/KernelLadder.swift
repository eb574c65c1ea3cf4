internal import TidegateCore

/// What the kernel's tables say about the rungs of one family; they know nothing of the rungs behind the route.
struct KernelLadder {
    let status: ReachabilityStatus
    let family: ReachabilityStatus.Family

    func reading(of rung: Rung) -> LadderView.Reading {
        let verdict = self.family.verdict
        if verdict.level == .unknown {
            return rung == .monitor && verdict.reason == .monitorDown
                ? .init(.bad, UnreachableReason.monitorDown.description) : .init(.unchecked, "not read yet")
        }
        if verdict.reason?.rung == rung { return self.failure(verdict) }
        switch rung {
        case .monitor: return .init(.ok, "\(self.status.links.count) links, \(self.status.mode)")
        case .interface: return self.interface
        case .carrier: return self.carrier
        case .address: return self.address
        case .route: return self.route
        case .internet: return self.internet
        case .gateway, .dns, .tcp, .tls, .http: return .unchecked
        }
    }

    private func failure(_ verdict: Verdict) -> LadderView.Reading {
        guard let reason = verdict.reason else { return .unchecked }
        let link = VerdictDescriptions.culprit(reason, among: self.status.links)
        let isAbsent = reason.isLackOfConfiguration && self.status.isSetUp(besides: self.family.family)
        return .init(isAbsent ? .absent : .bad, reason.description(ofLink: link?.name))
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
        guard let link = self.link else { return .init(.unchecked, "no interface to look at") }
        return link.isAdminUp
            ? .init(.ok, "\(link.name), \(link.kind.word)")
            : .init(.bad, UnreachableReason.adminDown.description(ofLink: link.name))
    }

    private var carrier: LadderView.Reading {
        guard let link = self.link else { return .unchecked }
        return link.hasCarrier
            ? .init(.ok, "\(link.name) has a carrier")
            : .init(.bad, UnreachableReason.noCarrier.description(ofLink: link.name))
    }

    private var address: LadderView.Reading {
        if let source = self.family.verdict.path?.source { return .init(.ok, "\(source)") }
        guard let link = self.link, link.usableFamilies.contains(self.family.family) else { return .unchecked }
        let address = link.addresses.first { $0.address.family == self.family.family }
        return .init(.ok, address?.description ?? "\(link.name) has one")
    }

    private var route: LadderView.Reading {
        guard self.family.verdict.level >= .routed, let path = self.family.verdict.path else { return .unchecked }
        return .init(.ok, path.gateway.map { "by \($0) on \(path.interface)" } ?? "directly on \(path.interface)")
    }

    private var internet: LadderView.Reading {
        self.family.verdict.level == .online ? .init(.ok, "internet checks succeed") : .unchecked
    }
}

extension LadderView.Reading {
    fileprivate static let unchecked = Self(.unchecked, "not checked")
}

extension Link.Kind {
    /// The kind as people read it.
    var word: String { [.ethernet: "Ethernet", .wifi: "Wi-Fi"][self] ?? self.rawValue }
}
