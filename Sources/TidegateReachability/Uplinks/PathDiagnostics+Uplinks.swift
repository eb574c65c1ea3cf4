package import TidegateCore
internal import TidegateNetwork

extension PathDiagnostics {
    // The ways that packets do not take now, with what echoes over them say.
    func otherWays(_ family: AddressFamily, _ found: LadderFindings) async -> [Uplink] {
        guard let path = found.paths[family], let explanation = path.explanation else { return [] }
        let others = explanation.uplinks(path.verdict, links: found.links).filter { $0.role == .standby }
        return await self.ask(others.filter { $0.state != .down }, explanation, costly: found.costlyLinks)
    }

    /// Every way out of this host, and what echoes over those say that are not the only one in use.
    package func uplinks() async -> [Uplink] {
        guard self.publicDiagnosis == .auto || self.policy.isEnabled else { return [] }
        let report = await self.monitor.routeReport(RouteQuery(questions: [], families: AddressFamily.allCases))
        var found: [Uplink] = []
        for family in AddressFamily.allCases {
            guard let route = report.sentinels[family].flatMap({ report.routes[$0] }),
                let explanation = route.explanation
            else { continue }
            let own = explanation.uplinks(route.verdict, links: report.links)
            let new = own.filter { uplink in !found.contains { $0.interface == uplink.interface } }
            let asked = new.filter { $0.role != .used && $0.state != .down }
            let answers = await self.ask(asked, explanation, costly: report.costlyLinks)
            found += new.map { uplink in answers.first { $0.isSame(as: uplink) } ?? uplink }
        }
        return found
    }

    // Nothing is sent over lines that cost money.
    private func ask(
        _ uplinks: [Uplink], _ explanation: RouteExplanation, costly: Set<String>
    ) async -> [Uplink] {
        await uplinks.prefix(Uplink.most).filter { !costly.contains($0.interface) }.concurrentMap { uplink in
            var uplink = uplink
            let (link, sentinels) = (uplink.interface, uplink.family.sentinels.prefix(2))
            if explanation.dropsAnswers(over: link) {
                uplink.state = .filtered
                return uplink
            }
            // The rules may lead only packets with an address of that link to its default route.
            guard let first = sentinels.first, await self.monitor.hasRoute(to: first, over: link) else { return uplink }
            let answers = await ([uplink.gateway].compactMap(\.self) + sentinels).concurrentMap {
                await self.dependencies.echo($0, over: link, within: .seconds(1))
            }
            uplink.state = Uplink.State(answers, from: uplink.gateway)
            return uplink
        }
    }
}

extension Uplink.State {
    /// The state that follows from the answers of the gateway, if there is one, and of hosts on the internet.
    init(_ answers: [EchoClient.Result], from gateway: IPAddress?) {
        func isAnswer(_ answer: EchoClient.Result) -> Bool { if case .answered = answer { true } else { false } }
        // A router that knows no way answers as well.
        let isRefused = answers.contains {
            if case .refused(let error) = $0 { error.isFrom(gateway) } else { false }
        }
        let isSent = answers.contains { if case .failed = $0 { false } else { true } }
        if answers.dropFirst(gateway == nil ? 0 : 1).contains(where: isAnswer) {
            self = .works
        } else {
            self = answers.contains(where: isAnswer) || isRefused ? .provider : isSent ? .silent : .unknown
        }
    }
}

extension RouteExplanation {
    /// The links that default routes lead out by, those in use first, each with its first next hop.
    ///
    /// None if packets take a tunnel: what left beside it would leave in clear.
    func uplinks(_ verdict: Verdict, links: [Link]) -> [Uplink] {
        guard verdict.path != nil, !verdict.notes.contains(.tunnel), self.isDefault, let matched else { return [] }
        // A route by a nexthop object may name only the object.
        let own = matched.legs.isEmpty ? self.chosen?.legs ?? [] : matched.legs
        let used = Set(own.filter { !$0.isDead }.map(\.link))
        let legs = own + self.defaults.filter { $0.kind == .unicast }.flatMap(\.legs)
        var found: [Uplink] = []
        for leg in legs {
            guard let link = links.first(where: { $0.index == leg.link }), ![.tunnel, .loopback].contains(link.kind),
                !link.isExcluded, !found.contains(where: { $0.interface == link.name })
            else { continue }
            let role: Uplink.Role = !used.contains(leg.link) ? .standby : used.count > 1 ? .member : .used
            var uplink = Uplink(link.name, leg.gateway, self.question.destination.family, role)
            if leg.isDead || !link.isUsable { uplink.state = .down }
            found.append(uplink)
        }
        return found
    }
}
