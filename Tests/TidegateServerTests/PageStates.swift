@testable import TidegateCore
import TidegateTestKit

@testable import TidegateServer

/// The page in the situations in which people look at it.
enum PageState: String, CaseIterable {
    case healthy, unchecked, pulledCable, hungRouter, deadProvider, deadResolver, deadTarget, manyTasks, slow

    /// 21 November 2026, 21:54:35 UTC.
    static let now = WallTime(microseconds: 1_795_298_075_000_000)
    static let path = NetworkPath(
        interface: "uplink", index: 2, gateway: IPAddress("10.77.0.1"), source: IPAddress("10.77.0.2"), table: 254)

    static func ago(_ seconds: Int) -> WallTime { now - .seconds(seconds) }

    var view: PageView { self.view(for: nil) }

    /// The page with the events of one party, and with a timeline.
    func view(for party: FaultParty?, span: TimelineSVG.Span = .hour) -> PageView {
        var configuration = EndpointConfiguration()
        configuration.version = "1.2.3"
        for target in self.status.targets {
            configuration.targetNames[target.target] = target.target.description.hasPrefix("api") ? "api" : "mirror"
        }
        let hasSchedule = self == .manyTasks
        return PageView(
            status: self.status, diagnosis: self.diagnosis, tasks: TaskSample(self.tasks), record: self.record,
            nextRuns: hasSchedule
                ? ["config-sync": Self.now + .seconds(140), "image": Self.now + .seconds(3000)] : [:],
            choice: PageChoice(party: party, span: span), now: Self.now, configuration: configuration)
    }

    // MARK: Status

    var status: ReachabilityStatus {
        let routed = Verdict(level: self == .deadTarget || self == .healthy ? .online : .routed, path: Self.path)
        let lost = Verdict(level: .none, reason: .noCarrier)
        let verdict = self == .pulledCable ? lost : routed
        let second = Verdict(level: .none, reason: self == .pulledCable ? .noCarrier : .linkLocalOnly)
        let targets = ["api.example.com:443", "mirror.example.net:80"].compactMap { try? Target($0) }
        var status = ReachabilityStatus(
            global: verdict, since: Self.ago(self == .pulledCable ? 8 : 5400), mode: .event,
            families: [.init(family: .ipv4, verdict: verdict), .init(family: .ipv6, verdict: second)],
            links: [Self.link("lo", 1, .loopback), Self.link("uplink", 2, .ethernet, self != .pulledCable)]
                + [Self.link("up2", 3, .wifi)],
            targets: targets.map { target in
                TargetVerdict(target: target, verdict: self.isDead(target) ? Verdict(level: .limited) : verdict)
            }, health: .init(isConsistent: true))
        for target in targets where self != .unchecked {
            var report = TargetCheckReport(.standard(for: target))
            report.isReached = !self.isDead(target) && self != .pulledCable
            report.lastSuccess = Self.ago(self.outage == nil ? 12 : 50)
            if self.isDead(target) {
                report.lastFailure = .init(
                    time: Self.ago(9), reason: self.outage?.reason ?? .refused, party: self.outage?.party ?? .theirs,
                    text: self.outage.map(\.reason.description) ?? "the connection was refused")
            }
            if target.port == 443 { report.certificateExpiry = Self.now + .seconds(6 * 86_400) }
            status.checks[target] = report
        }
        if self == .slow { status.quality = Self.slowProvider }
        return status
    }

    // An hour of echoes, and a quarter of those beyond the router lost in the last five minutes.
    private static var slowProvider: QualityStatus {
        var quality = QualityStatus()
        let hosts: [(Segment, String, Int64)] = [(.router, "10.77.0.1", 1200), (.provider, "100.64.0.2", 11_500)]
        quality.hosts = hosts.compactMap { segment, address, trip in
            guard let address = IPAddress(address) else { return nil }
            var host = QualityStatus.Host(segment, address, normal: .microseconds(trip))
            for number in 0..<360 {
                let isLost = segment == .provider && number > 330 && number % 4 == 0
                let time = Self.ago(3600 - number * 10)
                host.add(isLost ? nil : .microseconds(trip + Int64(number * 37 % 500)), at: time)
            }
            return host
        }
        quality.network = EveryEvent.troubles.network
        quality.network?.since = Self.ago(300)
        return quality
    }

    private func isDead(_ target: Target) -> Bool {
        // In an outage the check of the other one is not due again.
        self == .deadTarget && target.description.hasPrefix("mirror")
            || self.outage != nil && target.description.hasPrefix("api")
    }

    /// Why nothing answers, and whose failure that is; nil if something does or if there is no path.
    private var outage: (reason: UnreachableReason, party: FaultParty)? {
        switch self {
        case .hungRouter: (.timeout, .gateway)
        case .deadProvider: (.timeout, .upstream)
        case .deadResolver: (.resolverTimeout, .resolver)
        case .healthy, .unchecked, .pulledCable, .deadTarget, .manyTasks, .slow: nil
        }
    }

    private static func link(_ name: String, _ index: UInt32, _ kind: Link.Kind, _ hasCarrier: Bool = true) -> Link {
        let prefixes = ["lo": "127.0.0.1", "uplink": "10.77.0.2", "up2": "10.78.0.2"]
        let address = prefixes[name].flatMap { IPAddress($0) }.flatMap { IPPrefix($0, length: 24) }
        return Link(
            name: name, index: index, kind: kind, isAdminUp: true, hasCarrier: hasCarrier,
            operState: hasCarrier ? .up : .down, reason: hasCarrier ? nil : .noCarrier,
            addresses: address.map { [$0] } ?? [], usableFamilies: [.ipv4])
    }

    // MARK: Measurements

    var diagnosis: HostDiagnosis? {
        let failure: (rung: Rung, reason: UnreachableReason, cause: Cause?, advice: String)
        let gateway = IPAddress("10.77.0.1")
        switch self {
        case .unchecked: return nil
        case .healthy, .deadTarget, .manyTasks, .slow:
            return HostDiagnosis(explanation: Self.sound, time: Self.ago(4))
        case .pulledCable:
            var refusal = HostCause.KernelRefusal(reason: .noCarrier, family: .ipv4)
            refusal.link = "uplink"
            failure = (
                .carrier, .noCarrier, .thisHost(.kernel(refusal)),
                "Plug in its cable, or let up2 take over: sysctl -w net.ipv4.conf.uplink.ignore_routes_with_linkdown=1."
            )
        case .hungRouter:
            failure = (
                .gateway, .gatewaySilent,
                gateway.map { .router(.silent($0, link: "uplink", lastConfirmed: .seconds(41))) },
                "Restart the router at 10.77.0.1, or look at its console."
            )
        case .deadProvider:
            failure = (
                .internet, .limited, .provider(.nothingBeyond(gateway: gateway)),
                "Ask your provider: the router at 10.77.0.1 answers, and nothing behind it does."
            )
        case .deadResolver:
            failure = (
                .dns, .resolverTimeout, .resolver(.silent([IPAddress("10.77.0.53")].compactMap(\.self))),
                "Name another one in /etc/resolv.conf, or start the one at 10.77.0.53."
            )
        }
        let report = RungReport(
            rung: failure.rung, status: .bad, reason: failure.reason,
            link: failure.rung == .carrier ? "uplink" : nil,
            evidence: [
                failure.cause?.description ?? "",
                "\(failure.rung == .carrier ? "operstate down" : "2 tries, 1 s each")",
            ])
        var explanation = Explanation(
            target: Explanation.internet, addresses: [], ladders: Self.ladders(failing: report), conclusion: .broken,
            firstFailure: report, party: failure.cause?.party, advice: failure.advice)
        explanation.cause = failure.cause
        return HostDiagnosis(
            explanation: explanation, time: Self.ago(2), since: Self.ago(self == .pulledCable ? 8 : 47))
    }

    static let sound = Explanation(
        target: Explanation.internet, addresses: [], ladders: PageState.ladders(failing: nil), conclusion: .works)

    static func ladders(failing report: RungReport?) -> [Explanation.Ladder] {
        let values: [(Rung, String)] = [
            (.monitor, "3 links read from the kernel"), (.interface, "uplink: index 2, ethernet, admin up"),
            (.carrier, "uplink: carrier, operstate up"), (.address, "source 10.77.0.2 on uplink"),
            (.route, "via 10.77.0.1 dev uplink src 10.77.0.2"), (.gateway, "10.77.0.1 answers in 0.4 ms"),
            (.dns, "10.77.0.53 answers in 3 ms"), (.internet, "3 routers answer, the last is 198.51.100.1"),
        ]
        let failed = report.flatMap { report in values.firstIndex { $0.0 == report.rung } }
        let rungs = values.enumerated().map { place, value -> RungReport in
            guard let failed, let report else { return RungReport(rung: value.0, status: .ok, evidence: [value.1]) }
            if place == failed { return report }
            return place < failed
                ? RungReport(rung: value.0, status: .ok, evidence: [value.1])
                : RungReport(rung: value.0, status: .unknown, evidence: ["not tried: \(report.rung.rawValue) failed"])
        }
        let other = values.map { rung, value in
            switch rung {
            case .monitor, .interface, .carrier:
                rungs.first { $0.rung == rung } ?? RungReport(rung: rung, status: .ok, evidence: [value])
            case .address: RungReport(rung: .address, status: .bad, reason: .linkLocalOnly)
            default: RungReport(rung: rung, status: .unknown, evidence: ["not tried: there is no address"])
            }
        }
        return [.init(family: .ipv4, rungs: rungs), .init(family: .ipv6, rungs: other)]
    }

    // MARK: Tasks

    var tasks: [TaskInfo] {
        var sync = TaskInfo.example(name: "config-sync", url: "https://api.example.com/config.tar")
        switch self {
        case .pulledCable, .hungRouter, .deadProvider, .deadResolver:
            sync.state =
                self == .pulledCable
                ? .waiting(.path, detail: "uplink has no carrier") : .waiting(.backoff, detail: nil)
            var image = TaskInfo.example(name: "image", url: "https://mirror.example.net/big.iso")
            (image.state, image.progress.receivedWire, image.progress.expected) = (sync.state, 1_200_000_000, 5 << 30)
            var other = TaskInfo.example(name: nil, url: "https://api.example.com/hourly")
            other.state = sync.state
            return [sync, image, other]
        case .manyTasks:
            var done = TaskInfo.example(name: "config-sync", url: "https://api.example.com/config.tar")
            (done.state, done.progress) = (.completed(.success), TransferProgress(receivedWire: 2000, expected: 2000))
            let image = TaskInfo.example(name: "image", url: "https://mirror.example.net/big.iso")
            let many = (1...60).map { number in
                var task = TaskInfo.example(name: nil, url: "https://cdn.example.org/tiles/\(number % 45).png")
                task.state = number % 3 == 0 ? .waiting(.concurrency, detail: nil) : .running(attempt: 1)
                return task
            }
            return Array(repeating: done, count: 4) + [image] + many
        case .healthy, .unchecked, .deadTarget, .slow:
            (sync.state, sync.progress) = (.completed(.success), TransferProgress(receivedWire: 2000, expected: 2000))
            return [sync]
        }
    }

    // MARK: The past

    var record: HistoryRecord {
        var record = HistoryRecord(from: Self.ago(3400))
        var failing: [(party: FaultParty, host: String, cause: String, seconds: [Int])] = []
        switch self {
        case .deadTarget: failing = [(.theirs, "500.example", "status 500", Array(stride(from: 600, to: 60, by: -54)))]
        case .hungRouter:
            failing = [(.gateway, "api.example.com", "no resolver answered in time", [44, 40, 31, 22, 12, 3])]
        case .deadProvider: failing = [(.upstream, "api.example.com", "no answer in time", [40, 30, 20, 10])]
        case .deadResolver: failing = [(.resolver, "api.example.com", "no resolver answered in time", [40, 20, 5])]
        case .healthy, .unchecked, .pulledCable, .manyTasks, .slow: break
        }
        self.addOutage(at: 2000, lasting: 36, to: &record)
        for second in stride(from: 840, through: 0, by: -12) where self != .unchecked {
            if let closed = record.requests.closeSlice(before: Self.ago(second)) { _ = closed }
            record.requests.countRequest(at: Self.ago(second))
            for failure in failing where failure.seconds.contains(where: { $0 <= second && $0 > second - 12 }) {
                record.requests.add(
                    .init(failure.party, subject: failure.host, cause: failure.cause, at: Self.ago(second)))
            }
        }
        for number in stride(from: 9, through: 0, by: -1) {
            let isFailure = self != .healthy && number == 4
            record.add(
                .init(
                    isFailure ? .failure : .success, of: TaskInfo.example().id, at: Self.ago(number * 300 + 20),
                    text: isFailure ? "api.example.com:443: the connection was refused" : "2.0 KiB in 80 ms",
                    party: isFailure ? .theirs : nil), of: "config-sync", isNamed: true)
        }
        for (target, place) in self.status.checks.keys.map({ ($0, Int($0.port ?? 0)) }) {
            for number in 0..<30 {
                let isMiss =
                    self.isDead(target) && number > (self.outage == nil ? 18 : 26)
                    || self == .pulledCable && number == 29
                let latency = Duration.milliseconds(8 + (number * place) % 17)
                _ = record.add(
                    .init(time: Self.ago((30 - number) * 15), latency: isMiss ? nil : latency), of: target)
            }
        }
        if self == .pulledCable { self.addOutage(at: 8, lasting: nil, to: &record) }
        return record
    }

    private func addOutage(at seconds: Int, lasting: Int?, to record: inout HistoryRecord) {
        let down = Self.link("uplink", 2, .ethernet, false)
        let (routed, lost) = (Verdict(level: .routed, path: Self.path), Verdict(level: .none, reason: .noCarrier))
        let targets = self.status.targets.map { PathEvent(scope: .target($0.target), from: routed, to: lost) }
        // As they come from the monitor: effects first.
        let paths = [PathEvent(scope: .family(.ipv4), from: routed, to: lost)] + targets
        for path in paths + [PathEvent(scope: .global, from: routed, to: lost)] {
            record.append(EventLine(Self.event(.path(path), at: seconds)))
        }
        let up = Self.link("uplink", 2, .ethernet)
        record.append(EventLine(Self.event(.link(LinkEvent(from: up, to: down)), at: seconds)))
        record.add(.init(time: Self.ago(seconds), from: .routed, to: ReachabilityLevel.none))
        record.requests.add(
            .init(.mine, subject: "", cause: "the path was lost", isPathLoss: true, at: Self.ago(seconds)))
        guard let lasting else { return }
        record.append(EventLine(Self.event(.link(LinkEvent(from: down, to: up)), at: seconds - lasting)))
        let change = PathEvent(scope: .global, from: lost, to: routed)
        record.append(EventLine(Self.event(.path(change), at: seconds - lasting)))
        record.add(.init(time: Self.ago(seconds - lasting), from: ReachabilityLevel.none, to: .routed))
    }

    private static func event(_ payload: Event.Payload, at seconds: Int) -> Event {
        Event(sequence: 1, time: ago(seconds), moment: MonotonicTime(nanoseconds: 0), payload: payload)
    }
}
