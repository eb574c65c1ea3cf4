internal import TidegateCore
internal import TidegateNetwork

extension PathFindings {
    /// The rungs of links and addresses, from the lowest: interface, carrier and address.
    func linkRungs(among links: [Link]) -> [RungReport] {
        let reason = self.verdict.level < .routed ? self.verdict.reason : nil
        let link = self.link(reason, among: links)
        let found: [(rung: Rung, evidence: [String])] = [
            (.interface, self.interfaceEvidence(link, links)), (.carrier, link?.carrierEvidence(links) ?? []),
            (.address, self.addressEvidence(link, links)),
        ]
        return found.map { rung, evidence in
            guard let reason, reason.rung.order <= rung.order else {
                return RungReport(rung: rung, status: link == nil ? .unknown : .ok, evidence: evidence)
            }
            guard reason.rung == rung else { return .unknown(rung) }
            return RungReport(
                rung: rung, status: .bad, reason: reason, link: link?.reason == reason ? link?.name : nil,
                evidence: evidence)
        }
    }

    /// The link that the path uses, or would use.
    func link(_ reason: UnreachableReason?, among links: [Link]) -> Link? {
        let index = self.verdict.path?.index ?? self.deadLink ?? self.explanation?.matched?.link
        if let index, let link = links.first(where: { $0.index == index }) { return link }
        if let reason, let culprit = VerdictDescriptions.culprit(reason, among: links) { return culprit }
        // For a missing address, the link that could have it.
        let outward = links.filter { $0.kind != .loopback && !$0.isExcluded }
        return outward.first(where: \.isUsable) ?? outward.first ?? links.first { $0.isUsable }
    }

    private func interfaceEvidence(_ link: Link?, _ links: [Link]) -> [String] {
        guard let link else {
            if let index = self.deadLink {
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

    private func addressEvidence(_ link: Link?, _ links: [Link]) -> [String] {
        let family = self.subject.address.family
        if let source = self.verdict.path?.source, let name = self.verdict.path?.interface {
            let notes = self.verdict.notes.filter { $0 == .deprecatedOnly || $0 == .uniqueLocalSource }
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

extension Link {
    fileprivate func carrierEvidence(_ links: [Link]) -> [String] {
        var text = [
            "\(self.name): \(self.hasCarrier ? "carrier" : "no carrier"), operstate \(self.operState.rawValue)"
        ]
        if let losses = self.carrierLosses, losses > 0 {
            text.append("\(losses) carrier loss\(losses == 1 ? "" : "es") since the link was created")
        }
        let ports = links.filter { $0.master == self.index }
        if self.kind == .bridge || self.kind == .bond {
            let list = ports.map { "\($0.name) \($0.hasCarrier ? "up" : "no carrier")" }.joined(separator: ", ")
            text.append(ports.isEmpty ? "\(self.name) has no ports" : "ports: \(list)")
        }
        return text
    }
}

extension Rung {
    /// Its position on the ladder, from the lowest.
    var order: Int { Rung.allCases.firstIndex(of: self) ?? 0 }
}
