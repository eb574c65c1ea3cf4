package import TidegateCore

/// What the prober `icmp` sends.
package struct ICMPProbeOptions: Sendable, Hashable {
    package var family = FamilyPreference()
    package var source = ProbeSource()
    /// How many bytes a request carries; 0 for blackbox_exporter's 28.
    package var payloadSize = 0
    /// Whether IPv4 packets must not be fragmented, here or on the way.
    package var forbidsFragments = false
    /// How many routers a packet may pass; 0 for this host's usual number.
    package var hopLimit = 0

    /// blackbox_exporter's defaults.
    package init() {}
}

/// Where a probe leaves this host.
package struct ProbeSource: Sendable, Hashable {
    /// The address that packets are sent from; nil leaves that to the kernel.
    package var address: IPAddress?
    /// The only interface that they may leave by; nil leaves that to the routes.
    package var interface: String?

    /// The kernel's choice.
    package init() {}

    /// The preference, as far as the source's address allows it.
    func narrowing(_ preference: FamilyPreference) -> FamilyPreference {
        self.address.map { FamilyPreference($0.family, allowsFallback: false) } ?? preference
    }

    /// Those of several addresses that packets can go to.
    func usable(_ addresses: [IPAddress]) -> [IPAddress] {
        self.address.map { own in addresses.filter { $0.family == own.family } } ?? addresses
    }

    /// True if the routes say nothing of packets that may leave by one interface only.
    var isBound: Bool { self.interface != nil }
}
