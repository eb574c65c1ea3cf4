internal import TidegateCore
@testable internal import TidegateNetwork

@testable internal import TidegateReachability

/// Links and addresses as a test wants them, without a kernel.
extension KernelLink {
    static let up = KernelLink.flagUp | KernelLink.flagLowerUp

    /// A link that is up; index 77 unless said otherwise.
    static func make(
        _ name: String = "eth0", index: UInt32 = 77, flags: UInt32 = KernelLink.up, state: Link.OperState = .up,
        kind: Link.Kind = .ethernet, master: UInt32? = nil, losses: UInt32? = nil
    ) -> KernelLink {
        KernelLink(
            index: index, name: name, flags: flags, operState: state, kind: kind, master: master, carrierLosses: losses)
    }

    static let loopback = KernelLink(
        index: 1, name: "lo", flags: KernelLink.up | KernelLink.flagLoopback, operState: .unknown, hardwareType: 772,
        kind: .loopback)
}

extension KernelAddress {
    /// An address such as `10.0.0.2/24` on link 77.
    static func make(_ text: String, on link: UInt32 = 77, flags: UInt32 = 0) -> KernelAddress? {
        let parts = text.split(separator: "/")
        guard let address = IPAddress(String(parts[0])), let length = Int(parts[1]),
            let prefix = IPPrefix(address, length: length)
        else { return nil }
        return KernelAddress(link: link, prefix: prefix, flags: flags)
    }
}

extension NetworkSnapshot {
    /// NetworkSnapshot of these links and addresses, beside a loopback.
    static func of(_ links: [KernelLink], _ addresses: [KernelAddress?]) -> NetworkSnapshot {
        var excluded = NamePatterns(ReachabilityConfiguration.defaultExcludedInterfaces)
        return NetworkSnapshot(
            KernelTables(links: [.loopback] + links, addresses: addresses.compactMap { $0 }), excluded: &excluded)
    }
}

extension RouteLookup {
    /// Both answers alike.
    static func routed(_ route: KernelRoute) -> RouteLookup {
        RouteLookup(matched: .route(route), chosen: .route(route))
    }

    static func refused(_ code: Int32, hasText: Bool = false) -> RouteLookup {
        RouteLookup(matched: .refused(errno: code, hasText: hasText), chosen: .refused(errno: code, hasText: hasText))
    }
}
