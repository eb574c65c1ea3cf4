public import TidegateCore

/// Says in text people understand why there is no path: `eth0 has no carrier`.
public enum VerdictDescriptions {
    /// What is wrong, as a phrase without a full stop; `link` is the one it is about, where one is.
    public static func phrase(_ reason: UnreachableReason, link: String? = nil) -> String {
        let subject = link ?? "the link"
        return switch reason {
        case .noInterface: "there is no interface"
        case .adminDown: "\(subject) is switched off"
        case .noCarrier: "\(subject) has no carrier"
        case .dormant: "\(subject) waits to be authorised"
        case .lowerLayerDown: "the link below \(subject) is down"
        case .noAddress: "no address"
        case .linkLocalOnly: "only link-local addresses"
        case .tentative: "the address is still being checked for duplicates"
        case .dadFailed: "another host has the same address"
        case .noRoute: "no route"
        case .routeUnreachable: "the route says unreachable"
        case .prohibited: "a route or rule prohibits it"
        case .blackholed: "the route is a blackhole"
        case .noSourceAddress: "no usable source address"
        case .noSuchInterface: "the route leads to an interface that is gone"
        case .notAHost: "the address is no host's"
        case .gatewayUnresolved: "the gateway is not found on the link"
        case .gatewaySilent: "the gateway does not answer"
        case .resolverNoRoute: "no route to any resolver"
        case .resolverTimeout: "no resolver answered in time"
        case .resolverFailed: "the resolver failed"
        case .nameNotFound: "the name does not exist"
        case .portal: "a captive portal answers"
        case .limited: "internet checks fail"
        case .refused: "the connection was refused"
        case .hostUnreachable: "the host is unreachable"
        case .timeout: "no answer in time"
        case .tlsFailed: "TLS failed"
        case .httpError: "the answer was an HTTP error"
        case .monitorDown: "the kernel's network state cannot be read"
        }
    }

    /// True where `clause` says already what ``phrase(_:link:)`` would, about whatever link or name it is.
    public static func isSaid(_ reason: UnreachableReason, by clause: String) -> Bool {
        if reason == .nameNotFound {
            return clause.hasSuffix(" does not exist") || clause.contains(" has no ") && clause.hasSuffix(" address")
        }
        let mark = "\u{0}"
        let text = self.phrase(reason, link: mark)
        guard let place = text.firstRange(of: mark) else { return clause.hasPrefix(text) }
        return clause.hasPrefix(text[..<place.lowerBound]) && clause.hasSuffix(text[place.upperBound...])
    }

    /// Whose failure it was, with what that means: `the gateway: the router on this host's link`.
    public static func text(of party: FaultParty) -> String {
        switch party {
        case .mine: "mine: this host, its network or the request itself"
        case .gateway: "the gateway: the router on this host's link"
        case .upstream: "upstream: the network behind the gateway"
        case .resolver: "the resolver: who turns names into addresses"
        case .path: "the path: somewhere on the way to the target"
        case .theirs: "theirs: the target answers for it"
        case .unknown: "unknown: nothing tells"
        }
    }

    /// The phrase for a verdict below routed, about the link that it is about; nil where nothing is wrong.
    public static func phrase(_ verdict: Verdict, among links: [Link]) -> String? {
        guard verdict.level < .routed, let reason = verdict.reason else { return nil }
        return self.phrase(reason, link: self.culprit(reason, among: links)?.name)
    }

    /// Why there is no way out at all, for a gate's or a command's last line: `no path: eth0 has no carrier`.
    public static func noPath(_ status: ReachabilityStatus) -> String {
        "no path: \(self.families(status, AddressFamily.allCases))"
    }

    /// Why there is no path to a target: `no path to api.example.com:443: eth0 has no carrier`.
    public static func noPath(to target: TargetVerdict, among links: [Link]) -> String {
        "no path to \(target.target): \(self.phrase(target.verdict, among: links) ?? "no route")"
    }

    /// What the families lack, each fault once: `default route missing (v4), no address (v6)`.
    static func families(_ status: ReachabilityStatus, _ families: [AddressFamily]) -> String {
        var faults: [(phrase: String, families: [AddressFamily])] = []
        for entry in status.families where families.contains(entry.family) {
            guard let phrase = self.fault(entry.verdict, among: status.links) else { continue }
            if let position = faults.firstIndex(where: { $0.phrase == phrase }) {
                faults[position].families.append(entry.family)
            } else {
                faults.append((phrase, [entry.family]))
            }
        }
        let isShared = faults.count == 1 && faults[0].families.count == families.count && families.count > 1
        return faults.map { fault in
            isShared ? fault.phrase : "\(fault.phrase) (\(fault.families.map(self.short).joined(separator: ", ")))"
        }.joined(separator: ", ")
    }

    private static func fault(_ verdict: Verdict, among links: [Link]) -> String? {
        verdict.reason == .noRoute && verdict.level < .routed
            ? "default route missing" : self.phrase(verdict, among: links)
    }

    static func short(_ family: AddressFamily) -> String {
        switch family {
        case .ipv4: "v4"
        case .ipv6: "v6"
        }
    }

    // The link that people care about comes first.
    static func culprit(_ reason: UnreachableReason, among links: [Link]) -> Link? {
        let candidates = links.filter { $0.reason == reason && $0.kind != .loopback }
        return candidates.first { !$0.isExcluded } ?? candidates.first
    }
}
