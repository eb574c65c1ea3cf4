internal import TidegateCore
internal import TidegateNetwork

/// The rungs that links and addresses make: interface, carrier, address.
enum LinkRungs {
    /// The three rungs for a way, from the lowest.
    static func judge(_ way: WayFindings, among links: [Link]) -> [RungReport] {
        let reason = way.verdict.level < .routed ? way.verdict.reason : nil
        let failing = reason?.rung
        let link = self.link(of: way, reason, among: links)
        return [Rung.interface, .carrier, .address].map { rung in
            if rung == failing, let reason {
                let evidence = self.naming(link, reason) + self.evidence(rung, way, link, links)
                return RungReport(rung: rung, status: .bad, reason: reason, evidence: evidence)
            }
            if let failing, self.order(failing) < self.order(rung) { return LadderDescriptions.notClimbed(rung) }
            return self.sound(rung, way, link, links)
        }
    }

    /// The link that a way leads by, or would.
    static func link(of way: WayFindings, _ reason: UnreachableReason?, among links: [Link]) -> Link? {
        let index = way.verdict.path?.index ?? way.deadLink ?? way.story?.matched?.link
        if let index, let link = links.first(where: { $0.index == index }) { return link }
        if let reason, let culprit = VerdictDescriptions.culprit(reason, among: links) { return culprit }
        // Beside the address that is missing, the link that could have it.
        let outward = links.filter { $0.kind != .loopback && !$0.isExcluded }
        return outward.first(where: \.isUsable) ?? outward.first ?? links.first { $0.isUsable }
    }

    // Which link it is about comes first, where it is about one.
    private static func naming(_ link: Link?, _ reason: UnreachableReason) -> [String] {
        guard let link, link.reason == reason else { return [] }
        let words = VerdictDescriptions.phrase(reason, link: link.name)
        return words == VerdictDescriptions.phrase(reason) ? [] : [words]
    }

    static func order(_ rung: Rung) -> Int { Rung.allCases.firstIndex(of: rung) ?? 0 }

    private static func sound(_ rung: Rung, _ way: WayFindings, _ link: Link?, _ links: [Link]) -> RungReport {
        let evidence = self.evidence(rung, way, link, links)
        return RungReport(rung: rung, status: link == nil ? .unknown : .ok, evidence: evidence)
    }

    private static func evidence(_ rung: Rung, _ way: WayFindings, _ link: Link?, _ links: [Link]) -> [String] {
        switch rung {
        case .interface: self.interface(link, way, links)
        case .carrier: self.carrier(link, links)
        case .address: self.addresses(way, link, links)
        case .monitor, .route, .gateway, .dns, .internet, .tcp, .tls, .http: []
        }
    }

    private static func interface(_ link: Link?, _ way: WayFindings, _ links: [Link]) -> [String] {
        guard let link else {
            if let index = way.deadLink { return ["the route leads to interface index \(index), which does not exist"] }
            return ["there is no interface besides loopback"]
        }
        var words = [
            "\(link.name): index \(link.index), \(link.kind.rawValue), admin \(link.isAdminUp ? "up" : "down")"
        ]
        if let master = link.master {
            words.append("port of \(links.first { $0.index == master }?.name ?? "index \(master)")")
        }
        return words
    }

    private static func carrier(_ link: Link?, _ links: [Link]) -> [String] {
        guard let link else { return [] }
        var words = [
            "\(link.name): \(link.hasCarrier ? "carrier" : "no carrier"), operstate \(link.operState.rawValue)"
        ]
        if let losses = link.carrierLosses, losses > 0 {
            words.append("carrier lost \(losses) time\(losses == 1 ? "" : "s") since the link exists")
        }
        let ports = links.filter { $0.master == link.index }
        if link.kind == .bridge || link.kind == .bond {
            let list = ports.map { "\($0.name) \($0.hasCarrier ? "up" : "no carrier")" }.joined(separator: ", ")
            words.append(ports.isEmpty ? "\(link.name) has no ports" : "ports: \(list)")
        }
        return words
    }

    private static func addresses(_ way: WayFindings, _ link: Link?, _ links: [Link]) -> [String] {
        let family = way.subject.address.family
        if let source = way.verdict.path?.source, let name = way.verdict.path?.interface {
            let notes = way.verdict.notes.filter { $0 == .deprecatedOnly || $0 == .uniqueLocalSource }
            let more = notes.isEmpty ? "" : " (\(notes.map(\.description).joined(separator: ", ")))"
            return ["source \(source) on \(name)\(more)"]
        }
        let own = links.filter { $0.kind != .loopback && ($0.isUsable || $0.index == link?.index) }
        let lists = own.compactMap { link -> String? in
            let texts = link.addresses.filter { $0.address.family == family }.map(\.description)
            return texts.isEmpty ? nil : "\(link.name) has \(texts.joined(separator: ", "))"
        }
        let kind = family == .ipv4 ? "IPv4" : "IPv6"
        return lists.isEmpty ? ["no usable link has an \(kind) address"] : lists
    }
}
