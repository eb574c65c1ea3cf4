internal import TidegateCore
internal import TidegateNetwork

/// Links and addresses with their states; lookups are evaluated against them.
struct NetworkSnapshot {
    /// The properties of a source address.
    struct Source: Hashable {
        var isDeprecated: Bool
        var isLinkLocal: Bool
    }

    /// Every link by index, including loopback.
    private(set) var links: [UInt32: Link] = [:]
    /// The underlying link by index, if the kernel reports it: the parent of a VLAN, the `dev` of a tunnel.
    private(set) var underlays: [UInt32: UInt32] = [:]
    /// Links that use a phone's network over Bluetooth.
    private(set) var tethers: Set<UInt32> = []
    /// Addresses that traffic may use as its source, on links in any state.
    private(set) var sources: [IPAddress: Source] = [:]
    /// Addresses of usable links that count.
    private(set) var usableAddresses: Set<IPAddress> = []
    /// Why a family has no usable address; absent if it has one.
    private(set) var addressReasons: [AddressFamily: UnreachableReason] = [:]
    /// Families with an address that can at least reach neighbours on the link.
    private(set) var localFamilies: Set<AddressFamily> = []
    /// Why no link is usable; nil if one is.
    private(set) var linkReason: UnreachableReason?
    /// Why no link with a medium of its own is usable; nil if one is.
    ///
    /// Tunnels and bridges lead nowhere without such a link.
    private(set) var mediumReason: UnreachableReason?

    init(_ tables: KernelTables, excluded: inout NamePatterns) {
        let livePortMasters = Set(tables.links.values.lazy.filter(LinkEvaluator.isLivePort).compactMap(\.master))
        for link in tables.links.values {
            let reason = LinkEvaluator.reason(link, hasLivePort: livePortMasters.contains(link.index))
            self.links[link.index] = Link(
                link, reason, tables.addresses(on: link.index), excluded.match(link.name, or: link.alternativeNames))
            self.underlays[link.index] = link.lower
            if link.isTether { self.tethers.insert(link.index) }
        }
        let outward = self.links.values.filter { $0.kind != .loopback }
        self.linkReason = self.reason(of: outward)
        // The other end of a port of a bridge is a container of this host.
        let ports = Set(tables.links.values.lazy.filter { $0.infoKind == "veth" && $0.master != nil }.map(\.index))
        let media = outward.filter {
            [.ethernet, .wifi, .cellular].contains($0.kind) && !$0.isExcluded && !ports.contains($0.index)
        }
        self.mediumReason = media.isEmpty ? nil : self.reason(of: media)
        self.evaluateAddresses(tables)
    }

    /// The links by index, in the order of the status.
    var sortedLinks: [Link] { self.links.values.sorted { $0.index < $1.index } }

    /// True if traffic to other hosts may leave by this link.
    func isUsable(_ index: UInt32) -> Bool {
        guard let link = self.links[index] else { return false }
        return link.isUsable && link.kind != .loopback
    }

    /// Usable links other than this one.
    func usableLinks(besides index: UInt32) -> [UInt32] {
        self.links.keys.filter { $0 != index && self.isUsable($0) }.sorted()
    }

    private func reason(of outward: [Link]) -> UnreachableReason? {
        if outward.contains(where: \.isUsable) { return nil }
        // Links that are not excluded come first, then the one closest to carrying traffic.
        let best = outward.max { left, right in
            if left.isExcluded != right.isExcluded { return left.isExcluded }
            return LinkEvaluator.rung(of: left.reason ?? .noInterface)
                < LinkEvaluator.rung(of: right.reason ?? .noInterface)
        }
        return best?.reason ?? .noInterface
    }

    private mutating func evaluateAddresses(_ tables: KernelTables) {
        var reasons: [AddressFamily: [UnreachableReason]] = [:]
        for address in tables.addresses {
            let reason = AddressEvaluator.reason(address)
            if reason == nil || reason == .linkLocalOnly {
                self.sources[address.address] = Source(
                    isDeprecated: address.flags & KernelAddress.flagDeprecated != 0, isLinkLocal: reason != nil)
            }
            guard self.isUsable(address.link), !self.isPort(address.link) else { continue }
            let family = address.address.family
            if let reason {
                reasons[family, default: []].append(reason)
            } else {
                self.usableAddresses.insert(address.address)
            }
            if reason == nil || reason == .linkLocalOnly { self.localFamilies.insert(family) }
        }
        for family in AddressFamily.allCases where !self.usableAddresses.contains(where: { $0.family == family }) {
            self.addressReasons[family] = AddressEvaluator.closest(reasons[family] ?? [])
        }
    }

    // A port's traffic belongs to its master.
    private func isPort(_ index: UInt32) -> Bool {
        guard let master = self.links[index]?.master, let kind = self.links[master]?.kind else { return false }
        return kind == .bridge || kind == .bond
    }
}

extension Link {
    fileprivate init(_ link: KernelLink, _ reason: UnreachableReason?, _ addresses: [KernelAddress], _ isExcluded: Bool)
    {
        self.init(name: link.name, index: link.index, kind: link.isLoopback ? .loopback : link.kind)
        self.generation = link.generation
        self.isAdminUp = link.isAdminUp
        self.hasCarrier = link.hasCarrier
        self.operState = link.operState
        self.reason = reason
        self.master = link.master
        self.addresses = addresses.map(\.prefix)
        self.usableFamilies = Set(addresses.filter { AddressEvaluator.reason($0) == nil }.map(\.address.family))
        self.carrierLosses = link.carrierLosses
        self.isExcluded = isExcluded
        self.alternativeNames = link.alternativeNames
    }
}

/// Evaluates whether links can carry traffic.
enum LinkEvaluator {
    /// The first reason why a link cannot carry traffic; nil if it can.
    ///
    /// IFF_LOWER_UP is cleared immediately and operstate follows later, so both must agree before a link counts as up.
    static func reason(_ link: KernelLink, hasLivePort: Bool) -> UnreachableReason? {
        guard link.isAdminUp else { return .adminDown }
        guard let reason = self.operational(link) else {
            // A bridge without ports looks like a bridge that is up.
            return self.needsPort(link) && !hasLivePort ? .noCarrier : nil
        }
        return reason
    }

    /// True for masters that carry traffic only through their ports.
    static func needsPort(_ link: KernelLink) -> Bool { link.kind == .bridge || link.kind == .bond }

    /// True if a port can carry its master's traffic.
    static func isLivePort(_ link: KernelLink) -> Bool { link.isAdminUp && self.operational(link) == nil }

    private static func operational(_ link: KernelLink) -> UnreachableReason? {
        switch link.operState {
        case .lowerLayerDown: .lowerLayerDown
        case .notPresent: .noInterface
        case .down: .noCarrier
        case .dormant, .testing: link.hasCarrier ? .dormant : .noCarrier
        case .unknown, .up: link.hasCarrier ? nil : .noCarrier
        }
    }

    /// How close a failing link is to carrying traffic; higher is closer.
    static func rung(of reason: UnreachableReason) -> Int {
        let order: [UnreachableReason] = [.noInterface, .adminDown, .noCarrier, .lowerLayerDown, .dormant]
        return order.firstIndex(of: reason == .flapping ? .dormant : reason) ?? order.count
    }
}

/// Evaluates whether addresses can be the source of traffic to other hosts.
enum AddressEvaluator {
    /// Why an address does not count; nil if it does.
    ///
    /// Loopback addresses count as no address.
    static func reason(_ address: KernelAddress) -> UnreachableReason? {
        if address.address.isLoopback { return .noAddress }
        // By prefix: the kernel gives 169.254/16 the scope it was configured with.
        if address.address.isLinkLocal { return .linkLocalOnly }
        if address.flags & KernelAddress.flagDadFailed != 0 { return .dadFailed }
        let isTentative = address.flags & KernelAddress.flagTentative != 0
        let isOptimistic = address.flags & KernelAddress.flagOptimistic != 0
        return isTentative && !isOptimistic ? .tentative : nil
    }

    /// The reason of the address that comes closest to counting.
    static func closest(_ reasons: some Sequence<UnreachableReason>) -> UnreachableReason {
        let order: [UnreachableReason] = [.noAddress, .linkLocalOnly, .dadFailed, .tentative]
        return reasons.max { (order.firstIndex(of: $0) ?? 0) < (order.firstIndex(of: $1) ?? 0) } ?? .noAddress
    }
}

// Estimates whether links are metered.
extension NetworkSnapshot {
    // Bounds cycles: real links are not stacked higher.
    private static let depthLimit = 8

    /// Whether a link is metered; `configured` are the links that the configuration names as metered.
    func metered(_ link: Link, configured: Set<UInt32>, depth: Int = 0) -> Metered {
        if configured.contains(link.index) { return .yes }
        if self.costs(link) { return .guessYes }
        guard link.kind == .tunnel || link.kind == .virtual else { return .guessNo }
        let underlay = depth < Self.depthLimit ? self.underlays[link.index].flatMap { self.links[$0] } : nil
        // A tunnel is metered like its underlay; if that is unknown, like the most expensive possible one.
        let isCostly =
            underlay.map { self.metered($0, configured: configured, depth: depth + 1).isCostly }
            ?? (link.kind == .tunnel && self.isAnyUplinkCostly(configured))
        return isCostly ? .guessYes : .guessNo
    }

    private func costs(_ link: Link) -> Bool { link.kind == .cellular || self.tethers.contains(link.index) }

    private func isAnyUplinkCostly(_ configured: Set<UInt32>) -> Bool {
        self.links.values.contains { link in
            link.isUsable && link.kind != .tunnel && !link.usableFamilies.isEmpty
                && (configured.contains(link.index) || self.costs(link))
        }
    }
}
