internal import TidegateCore
internal import TidegateNetwork

/// Evaluates links and addresses: the rungs interface, carrier and address.
enum LinkRungs {
    /// The three rungs for a path, from the lowest.
    static func reports(_ findings: PathFindings, among links: [Link]) -> [RungReport] {
        let reason = findings.verdict.level < .routed ? findings.verdict.reason : nil
        let failing = reason?.rung
        let link = self.link(of: findings, reason, among: links)
        return [Rung.interface, .carrier, .address].map { rung in
            if rung == failing, let reason {
                return RungReport(
                    rung: rung, status: .bad, reason: reason, link: link?.reason == reason ? link?.name : nil,
                    evidence: self.evidence(rung, findings, link, links))
            }
            if let failing, self.order(failing) < self.order(rung) { return LadderDescriptions.notChecked(rung) }
            return self.sound(rung, findings, link, links)
        }
    }

    /// The link that a path leads over, or would.
    static func link(of findings: PathFindings, _ reason: UnreachableReason?, among links: [Link]) -> Link? {
        let index = findings.verdict.path?.index ?? findings.deadLink ?? findings.explanation?.matched?.link
        if let index, let link = links.first(where: { $0.index == index }) { return link }
        if let reason, let culprit = VerdictDescriptions.culprit(reason, among: links) { return culprit }
        // For a missing address, the link that could have it.
        let outward = links.filter { $0.kind != .loopback && !$0.isExcluded }
        return outward.first(where: \.isUsable) ?? outward.first ?? links.first { $0.isUsable }
    }

    static func order(_ rung: Rung) -> Int { Rung.allCases.firstIndex(of: rung) ?? 0 }

    private static func sound(_ rung: Rung, _ findings: PathFindings, _ link: Link?, _ links: [Link]) -> RungReport {
        let evidence = self.evidence(rung, findings, link, links)
        return RungReport(rung: rung, status: link == nil ? .unknown : .ok, evidence: evidence)
    }

    private static func evidence(_ rung: Rung, _ findings: PathFindings, _ link: Link?, _ links: [Link]) -> [String] {
        switch rung {
        case .interface: self.interface(link, findings, links)
        case .carrier: self.carrier(link, links)
        case .address: self.addresses(findings, link, links)
        case .monitor, .route, .gateway, .dns, .internet, .tcp, .tls, .http: []
        }
    }

    private static func interface(_ link: Link?, _ findings: PathFindings, _ links: [Link]) -> [String] {
        guard let link else {
            if let index = findings.deadLink {
                return ["the route leads to interface index \(index), which does not exist"]
            }
            return ["there is no interface besides loopback"]
        }
        var text = [
            "\(link.name): index \(link.index), \(link.kind.rawValue), admin \(link.isAdminUp ? "up" : "down")"
        ]
        if let master = link.master {
            text.append("port of \(links.first { $0.index == master }?.name ?? "index \(master)")")
        }
        return text
    }

    private static func carrier(_ link: Link?, _ links: [Link]) -> [String] {
        guard let link else { return [] }
        var text = [
            "\(link.name): \(link.hasCarrier ? "carrier" : "no carrier"), operstate \(link.operState.rawValue)"
        ]
        if let losses = link.carrierLosses, losses > 0 {
            text.append("carrier lost \(losses) time\(losses == 1 ? "" : "s") since the link exists")
        }
        let ports = links.filter { $0.master == link.index }
        if link.kind == .bridge || link.kind == .bond {
            let list = ports.map { "\($0.name) \($0.hasCarrier ? "up" : "no carrier")" }.joined(separator: ", ")
            text.append(ports.isEmpty ? "\(link.name) has no ports" : "ports: \(list)")
        }
        return text
    }

    private static func addresses(_ findings: PathFindings, _ link: Link?, _ links: [Link]) -> [String] {
        let family = findings.subject.address.family
        if let source = findings.verdict.path?.source, let name = findings.verdict.path?.interface {
            let notes = findings.verdict.notes.filter { $0 == .deprecatedOnly || $0 == .uniqueLocalSource }
            let more = notes.isEmpty ? "" : " (\(notes.map(\.description).joined(separator: ", ")))"
            return ["source \(source) on \(name)\(more)"]
        }
        let own = links.filter { $0.kind != .loopback && ($0.isUsable || $0.index == link?.index) }
        let lists = own.compactMap { link -> String? in
            let texts = link.addresses.filter { $0.address.family == family }.map(\.description)
            return texts.isEmpty ? nil : "\(link.name) has \(texts.joined(separator: ", "))"
        }
        return lists.isEmpty ? ["no usable link has an \(family.name) address"] : lists
    }
}
