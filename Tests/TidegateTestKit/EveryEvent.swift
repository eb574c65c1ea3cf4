package import TidegateCore

/// Every kind of event, as one monitor might publish them; for tests of exporters.
package enum EveryEvent {
    /// The global and family verdicts at the end.
    package static let routed = Verdict(
        level: .routed,
        path: NetworkPath(
            interface: "eth0", index: 2, gateway: IPAddress("10.0.0.1"), source: IPAddress("10.0.0.2"), table: 254))

    /// A verdict without a path.
    package static let unplugged = Verdict(level: .none, reason: .noCarrier)

    /// The events in order.
    package static var payloads: [Event.Payload] {
        self.paths + self.diagnoses + self.targetChecks + self.quality + self.uplinks + self.probes + self.links
            + self.netlink
            + self.sessions + self.incidents + self.daemon
            + TaskKind.allCases.flatMap(self.tasks(of:))
    }

    /// The monitor's status at the end.
    package static var status: ReachabilityStatus {
        var status = ReachabilityStatus.unavailable(mode: .event)
        status.global = self.routed
        status.since = WallTime(microseconds: 1_790_000_000_000_000)
        status.families = [
            .init(family: .ipv4, verdict: self.routed),
            .init(family: .ipv6, verdict: Verdict(level: .none, reason: .noAddress)),
        ]
        status.links = [self.link(carrier: true), self.excludedLink]
        status.targets = self.target.map { [TargetVerdict(target: $0, verdict: self.routed)] } ?? []
        status.health = .init(overruns: 1, resyncs: 4, isConsistent: true, receiveBufferBytes: 425_984)
        if let target = self.target { status.checks[target] = self.targetReport }
        return status
    }

    /// The only target.
    package static let target: Target? = try? Target("api.example.com:443")

    /// The session's statistics at the end.
    package static var statistics: SessionStatistics {
        var statistics = SessionStatistics()
        (statistics.tasks, statistics.held) = ([.running: 2, .waiting: 1], [.path: 1])
        (statistics.gateWaiting, statistics.stalled) = (1, 1)
        statistics.oldestStart = [.running: WallTime(microseconds: 1_790_000_000_000_000)]
        (statistics.expectedBytes, statistics.transferredBytes) = ([.download: 4000], [.download: 1000])
        (statistics.expectedSentBytes, statistics.sentBytes) = ([.upload: 3000], [.upload: 600])
        (statistics.activeConnections, statistics.idleConnections) = (2, 1)
        (statistics.journaled, statistics.retryTokens) = ([.waiting: 1], ["10.0.0.1": 486])
        return statistics
    }

    private static var paths: [Event.Payload] {
        let scopes: [PathEvent.Scope] = [.global, .family(.ipv4)] + (self.target.map { [.target($0)] } ?? [])
        return scopes.flatMap { scope -> [Event.Payload] in
            let first = PathEvent(scope: scope, from: .unknown, to: self.routed)
            let lost = PathEvent(
                scope: scope, from: self.routed, to: self.unplugged, lasted: .seconds(5), detection: .microseconds(80))
            let back = PathEvent(
                scope: scope, from: self.unplugged, to: self.routed, lasted: .seconds(2), detection: .microseconds(120))
            return [.path(first), .path(lost), .path(back)]
        }
    }

    /// A silence that is checked, the outage that explains it, and its end.
    private static var diagnoses: [Event.Payload] {
        let start = WallTime(microseconds: 1_789_999_985_000_000)
        let sound = Explanation(target: "the internet", addresses: [], ladders: [], conclusion: .works)
        var broken = Explanation(target: "the internet", addresses: [], ladders: [], conclusion: .broken)
        broken.cause = .provider(.nothingBeyond(gateway: IPAddress("10.0.0.1")))
        (broken.party, broken.advice) = (.upstream, "Ask the provider.")
        return [
            HostDiagnosis(explanation: sound, time: start, since: start, state: .checking),
            HostDiagnosis(explanation: broken, time: start + .seconds(3), since: start),
            HostDiagnosis(explanation: sound, time: start + .seconds(60), since: start + .seconds(60)),
        ].map { .diagnosis($0) }
    }

    /// What is known of the only target.
    package static var targetReport: TargetCheckReport {
        var report = TargetCheckReport(TargetCheck(.tls))
        report.isReached = true
        report.lastSuccess = WallTime(microseconds: 1_790_000_000_000_000)
        report.lastFailure = self.targetFailure
        report.certificateExpiry = WallTime(microseconds: 1_800_000_000_000_000)
        report.nextCheck = WallTime(microseconds: 1_790_000_015_000_000)
        report.phases = self.checkPhases
        return report
    }

    private static let checkPhases = PhaseDurations(
        connect: .milliseconds(12), tls: .milliseconds(31), processing: .milliseconds(8))

    private static let targetFailure = TargetCheckReport.Failure(
        time: WallTime(microseconds: 1_789_999_985_000_000), reason: .refused, party: .theirs,
        text: "203.0.113.10 refuses connections",
        advice: "Start the service on api.example.com:443, or check the port: the host is there and refuses.")

    private static var targetChecks: [Event.Payload] {
        guard let target = self.target else { return [] }
        let failed = TargetCheckEvent(target: target, kind: .tls, failure: self.targetFailure, isNews: true)
        let reached = TargetCheckEvent(
            target: target, kind: .tls, failure: nil, isNews: true,
            certificateExpiry: WallTime(microseconds: 1_800_000_000_000_000), phases: self.checkPhases)
        return [.targetCheck(failed), .targetCheck(reached)]
    }

    /// A provider that loses packets, and a slow target.
    package static var troubles: (network: QualityStatus.Trouble, target: QualityStatus.Trouble) {
        let since = WallTime(microseconds: 1_789_999_985_000_000)
        func trouble(_ cause: SlowCause, _ advice: String) -> QualityStatus.Trouble {
            .init(since: since, cause: cause, advice: advice, evidence: .null)
        }
        return (
            trouble(
                .lossBehind(0.12, router: IPAddress(ipv4: 0x0A00_0001), isEverywhere: true),
                "Report the figures of this measurement to the provider."),
            trouble(
                .slowServer(.milliseconds(1200), roundTrip: .milliseconds(32)), "Check the server's log at this time.")
        )
    }

    /// Changes of ways out.
    private static var uplinks: [Event.Payload] {
        [
            .uplink(UplinkEvent(self.uplink(.standby, .silent), before: .works)),
            .uplink(UplinkEvent(self.uplink(.standby, .works), before: .silent)),
            .uplink(UplinkEvent(self.uplink(.member, .provider), before: nil)),
            .uplink(UplinkEvent(self.uplink(.standby, .down), before: .down, isGone: true)),
        ]
    }

    /// A way out in a state.
    package static func uplink(_ role: Uplink.Role, _ state: Uplink.State) -> Uplink {
        var uplink = Uplink("eth\(role == .used ? 0 : 1)", IPAddress(ipv4: 0xC0A8_0101), .ipv4, role)
        (uplink.state, uplink.since) = (state, WallTime(microseconds: 1_790_000_000_000_000))
        return uplink
    }

    /// The way out and the target while they are slow.
    package static var qualityStatus: QualityStatus {
        var quality = QualityStatus()
        let hosts: [(Segment, String, Int64)] = [(.router, "10.0.0.1", 1200), (.provider, "100.64.0.2", 11_500)]
        quality.hosts = hosts.compactMap { segment, address, trip in
            guard let address = IPAddress(address) else { return nil }
            var host = QualityStatus.Host(segment, address, normal: .microseconds(trip))
            for second in 0..<12 {
                let isLost = segment == .provider && second % 6 == 5
                host.add(
                    isLost ? nil : .microseconds(trip + 10 * Int64(second)),
                    at: WallTime(microseconds: 1_789_999_880_000_000) + .seconds(10 * second))
            }
            return host
        }
        quality.interface = "wlan0"
        (quality.own.backlogs, quality.own.drops, quality.own.errors) = ([4_542], 12, 3)
        (quality.own.signal, quality.own.repeatedFrames) = (-71, 380)
        quality.network = self.troubles.network
        if let target = self.target { quality.targets[target] = self.troubles.target }
        return quality
    }

    private static var quality: [Event.Payload] {
        let (network, slow) = self.troubles
        return [
            QualityEvent(.degraded, target: nil, network), QualityEvent(.degraded, target: self.target, slow),
            QualityEvent(.ended(.recovered), target: nil, network),
            QualityEvent(.ended(.failed), target: self.target, slow),
            QualityEvent(.ended(.moved), target: nil, network),
        ].map { .quality($0) }
    }

    /// A scheduled probe that succeeded, failed, was gated and overran, and one that is gone.
    private static var probes: [Event.Payload] {
        let refused = ProbeFailure(
            reason: "connect_failed", party: .theirs, text: "203.0.113.10 refused the connection")
        let gated = ProbeFailure(reason: "no_path", party: .mine, text: "eth0 has no carrier")
        let expiry = WallTime(microseconds: 1_800_000_000_000_000)
        var success = ProbeEvent.Outcome(.success, duration: .milliseconds(62))
        (success.certificateExpiry, success.uptime) = (expiry, 1)
        var failure = ProbeEvent.Outcome(.failure, duration: .milliseconds(3))
        (failure.failure, failure.isNews, failure.uptime) = (refused, true, 0.5)
        var inconclusive = ProbeEvent.Outcome(.inconclusive, duration: .zero)
        (inconclusive.failure, inconclusive.isGated, inconclusive.uptime) = (gated, true, 0.5)
        let api = [.added] + [success, failure, inconclusive].map(ProbeEvent.Kind.finished) + [.overrun]
        let old: [ProbeEvent.Kind] = [.added, .removed]
        return api.map { .probe(ProbeEvent(probe: "api", $0)) } + old.map { .probe(ProbeEvent(probe: "old", $0)) }
    }

    /// What is counted of the incidents.
    package static var incidentTotals: IncidentTotals {
        var totals = IncidentTotals()
        let key = IncidentTotals.Key(.network, .down, .upstream)
        (totals.begun[key], totals.open[key], totals.down[key]) = (2, 1, .milliseconds(92_500))
        let slow = IncidentTotals.Key(.network, .degraded, .upstream)
        (totals.begun[slow], totals.open[slow], totals.down[slow]) = (1, 0, .seconds(40))
        totals.watched = .seconds(3600)
        var account = IncidentTotals.Account()
        (account.up, account.down[.theirs]) = (.seconds(3500), .seconds(100))
        totals.targets["api"] = account
        return totals
    }

    /// An outage of the way out that became intermittent and ended.
    private static var incidents: [Event.Payload] {
        let finding = Incident.Finding(
            party: .upstream, cause: "the gateway 10.0.0.1 answers, and nothing beyond it does", certainty: .probable)
        var incident = Incident(
            id: "019a0000-0000-7000-8000-000000000009", .network, name: nil, finding,
            start: WallTime(microseconds: 1_790_000_000_000_000))
        let opened = incident
        incident.drops[0].end = WallTime(microseconds: 1_790_000_060_000_000)
        (incident.end, incident.endReason) = (incident.drops.last?.end, .recovered)
        return [(.opened, opened), (.changed, opened), (.closed, incident)].map { .incident(IncidentEvent($0, $1)) }
    }

    private static var links: [Event.Payload] {
        [.link(LinkEvent(from: self.link(carrier: true), to: self.link(carrier: false)))]
    }

    private static var netlink: [Event.Payload] {
        NetlinkEvent.MessageType.allCases.map { .netlink(.received($0, count: 3)) }
            + NetlinkEvent.ResyncReason.allCases.map { .netlink(.resynced($0, duration: .milliseconds(2))) }
            + ReachabilityStatus.Mode.allCases.map { .netlink(.modeChanged($0)) }
            + [
                .netlink(.overrun), .netlink(.dumpInterrupted), .netlink(.malformed(count: 2)),
                .netlink(.lookedUp(count: 16)), .netlink(.receiveBuffer(bytes: 425_984)), .netlink(.lost("ENOBUFS")),
            ]
    }

    private static var sessions: [Event.Payload] {
        [
            .session(.poolReplaced(number: 1)), .session(.invalidated), .session(.reset),
            .session(.storedResponseDropped(file: "/v/a.json", problem: "is damaged")),
        ]
    }

    private static var daemon: [Event.Payload] {
        [
            .daemon(.configurationLoaded(isGood: true)), .daemon(.requestAnswered(handler: "metrics", status: 200)),
            .daemon(.runSkipped(task: "sync")), .daemon(.incidentCommand(failure: nil)),
            .daemon(.incidentCommand(failure: "it took longer than 30 s")), .daemon(.stopping),
            .daemon(.journal(.opened(unfinished: 2))),
            .daemon(.journal(.committed(entries: 3, duration: .milliseconds(2)))),
            .daemon(.journal(.failed(.diskFull, entries: 1))),
            .daemon(.journal(.lost(transactions: 7, tasks: 3))),
        ] + self.remoteWrite.map { .daemon(.remoteWrite($0)) }
    }

    private static var remoteWrite: [RemoteWriteEvent] {
        [
            .opened(samples: 1800, pending: 32_768), .kept(samples: 900, pending: 49_152),
            .failed(RemoteWriteFailure(.connectFailed, party: .theirs), isNews: true),
            .delivered(samples: 2600, pending: 4096, isNews: true),
        ] + RemoteWriteLoss.allCases.map { .dropped($0, samples: 25, detail: "status 400", pending: 0, isNews: true) }
    }

    private static func link(carrier: Bool) -> Link {
        var link = Link(name: "eth0", index: 2, kind: .ethernet)
        (link.isAdminUp, link.hasCarrier, link.operState) = (true, carrier, carrier ? .up : .down)
        (link.reason, link.carrierLosses) = (carrier ? nil : .noCarrier, 3)
        return link
    }

    private static var excludedLink: Link {
        var link = Link(name: "lo", index: 1, kind: .loopback)
        (link.isAdminUp, link.hasCarrier, link.isExcluded) = (true, true, true)
        return link
    }
}
