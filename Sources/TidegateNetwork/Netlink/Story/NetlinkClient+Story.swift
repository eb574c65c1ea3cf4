internal import Glibc
package import TidegateCore

// What `explain` wants to know beyond the verdict; asked for on demand, never kept.
extension NetlinkClient {
    // What makes defaults (RTPROT_* of linux/rtnetlink.h): kernel, boot, static, dhcp, keepalived, and advertisements
    // (ra) for IPv6. 0 would mean any, and with it the whole table; what a routing daemon made is found as the route
    // that matched.
    private static let protocols: [AddressFamily: [UInt8]] = [.ipv4: [2, 3, 4, 16, 18], .ipv6: [2, 3, 4, 16, 18, 9]]
    // RTN_BLACKHOLE, RTN_UNREACHABLE, RTN_PROHIBIT.
    private static let refusingTypes: [Int32: UInt8] = [22: 6, 113: 7, 13: 8]
    // Where there are more tables than this, nobody reads the list.
    private static let tableLimit = 64

    /// All that the kernel has to say about where packets to an address go; nil without a kernel to ask.
    package func explanation(of question: RouteQuestion) -> RouteExplanation? {
        var lookup: RouteLookup?
        guard self.lookUp([question], { lookup = $1 }), let lookup else { return nil }
        var story = RouteExplanation(question: question, lookup: lookup)
        story.names = self.tables.links.mapValues(\.name)
        self.ask { query throws(QueryFailure) in
            try self.tellRules(&story, query)
            try self.tellLink(&story, query)
        }
        return story
    }

    /// What the link knows of an address; nil where there is no entry, or no kernel to ask.
    package func neighbour(of address: IPAddress, on link: UInt32) -> KernelNeighbour? {
        var neighbour: KernelNeighbour?
        self.ask { query throws(QueryFailure) in neighbour = try query.neighbour(NeighbourKey(address, on: link)) }
        return neighbour
    }

    // An answer that was lost leaves its part of the story out; only a socket that died makes blind.
    private func ask(_ body: (QueryChannel) throws(QueryFailure) -> Void) {
        guard let query = self.query else { return }
        do throws(QueryFailure) {
            try body(query)
        } catch {
            self.recover(from: error)
        }
    }

    private func recover(from failure: QueryFailure) {
        do throws(NetlinkError) {
            switch failure {
            case .failed(let error): throw error
            case .broken: self.query = try QueryChannel(self.options)
            }
        } catch {
            self.goBlind(error)
        }
    }

    private func tellRules(_ story: inout RouteExplanation, _ query: QueryChannel) throws(QueryFailure) {
        let family = story.question.destination.family
        story.rules = try query.rules(family)
        let trail = RuleEvaluation(of: self.packet(story.question), through: story.rules)
        let tables = self.tablesNamed(by: story.rules, trail)
        story.defaults = try self.defaults(family, tables, query)
        switch story.lookup.matched {
        case .route(let route):
            story.rule = trail.rule(to: route.table, prefixLength: route.prefixLength)
            story.include(route)
        case .refused(let code, _):
            var refusing: [DefaultRoute] = []
            if let type = NetlinkClient.refusingTypes[code] {
                for table in tables {
                    refusing += try query.routes(family, RouteFilter(table: table, type: type), longest: 128)
                }
            }
            (story.rule, story.refusal) = trail.refusal(errno: code, among: refusing)
        case .none: break
        }
        story.defaults = RouteExplanation.sorted(story.defaults, by: tables)
    }

    private func packet(_ question: RouteQuestion) -> RuleEvaluation.Packet {
        var packet = RuleEvaluation.Packet(question.destination, uid: question.uid ?? getuid())
        packet.mark = question.mark ?? 0
        packet.port = question.port
        packet.ipProtocol = question.port == nil ? nil : question.ipProtocol
        packet.loopbackName = self.tables.link(1)?.name ?? "lo"
        let zone = question.destination.zone
        if let link = (question.link ?? (zone == 0 ? nil : zone)).flatMap({ self.tables.link($0) }) {
            packet.outputName = link.name
            packet.l3Table = link.vrfTable ?? link.master.flatMap { self.tables.link($0)?.vrfTable }
        }
        return packet
    }

    private func tablesNamed(by rules: [KernelRule], _ trail: RuleEvaluation) -> [UInt32] {
        var tables: [UInt32] = []
        for rule in rules {
            guard let table = trail.table(of: rule) ?? rule.table, table != 0, !tables.contains(table) else { continue }
            tables.append(table)
        }
        return Array(tables.prefix(NetlinkClient.tableLimit))
    }

    private func defaults(
        _ family: AddressFamily, _ tables: [UInt32], _ query: QueryChannel
    ) throws(QueryFailure) -> [DefaultRoute] {
        var defaults: [DefaultRoute] = []
        for table in tables {
            for number in NetlinkClient.protocols[family] ?? [] {
                defaults += try query.routes(family, RouteFilter(table: table, routeProtocol: number), longest: 1)
            }
        }
        return defaults
    }

    private func tellLink(_ story: inout RouteExplanation, _ query: QueryChannel) throws(QueryFailure) {
        let route = story.chosen ?? story.matched
        guard let route, let link = route.link, route.kind == .unicast else { return }
        let family = story.question.destination.family
        story.neighbour = try query.neighbour(NeighbourKey(route.gateway ?? story.question.destination, on: link))
        let own = try query.settings(family, of: Int32(clamping: link))
        story.ignoresLinkdown = own?.ignoresLinkdown
        // What IPv4 does on a link is that link's setting and that of all together; IPv6 goes by the link's alone.
        guard family == .ipv4, let own else { return }
        let all = try query.settings(family, of: -1)
        if all?.ignoresLinkdown ?? false { story.ignoresLinkdown = true }
        story.reversePathFilter = own.reversePathFilter.map { max($0, all?.reversePathFilter ?? 0) }
    }
}
