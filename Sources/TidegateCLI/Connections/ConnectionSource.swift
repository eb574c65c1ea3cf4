internal import Foundation
internal import Tidegate
internal import TidegateServer

/// The source of the reports of `connections`: a running daemon, or an observer of this process.
struct ConnectionSource: Sendable {
    /// True if the reports come from a daemon, which has already been observing for a while.
    let isDaemon: Bool
    /// Why a running daemon is not used, as a sentence without a full stop; nil if it is used, or if no daemon runs.
    let note: String?
    /// Returns the current report.
    let report: @Sendable () async throws(CommandError) -> ConnectionsReport

    // The daemon only reports what it already knows, so it answers quickly.
    private static let limit = Duration.seconds(2)

    /// Uses a daemon that observes connections, or else starts an observer that knows at most one target.
    static func find(_ client: ControlClient, target: Target?) async throws(CommandError) -> ConnectionSource {
        switch await self.ask(client) {
        case .observes:
            return ConnectionSource(isDaemon: true, note: nil) { () throws(CommandError) in
                do throws(ControlClientError) {
                    return try await client.connections()
                } catch {
                    throw CommandError(error)
                }
            }
        case .noDaemon: return try await self.own(target, note: nil)
        case .useless(let reason):
            return try await self.own(target, note: "observing without the daemon, from now on: \(reason)")
        }
    }

    private enum Answer {
        /// A daemon is running and observes connections.
        case observes
        /// No daemon is running.
        case noDaemon
        /// A daemon may be running, but cannot be used for this reason.
        case useless(String)
    }

    private static func ask(_ client: ControlClient) async -> Answer {
        await value(within: self.limit, orElse: .useless("no answer on \(client.socket)")) {
            do throws(ControlClientError) {
                let report = try await client.connections()
                let isOff = report.mode == .off && report.reason == nil
                return isOff ? .useless("it does not observe connections (observation.connections)") : .observes
            } catch {
                let hasSocket = ControlClient.group(of: client.socket) != nil
                return error.reason == .noDaemon && !hasSocket ? .noDaemon : .useless(error.description)
            }
        }
    }

    private static func own(_ target: Target?, note: String?) async throws(CommandError) -> ConnectionSource {
        var configuration = MonitorConfiguration()
        configuration.connections.isEnabled = true
        configuration.connections.establishedInterval = .seconds(1)
        if let target { configuration.reachability.targets = [target] }
        let monitor = try Result { try Monitor(configuration) }
            .mapError { CommandError(.unknown, "connections cannot be observed: \($0)") }.get()
        // Stalls are attributed by path, and names are resolved for the paths.
        await monitor.waitForFirstStatus(within: .seconds(2))
        return ConnectionSource(isDaemon: false, note: note) { () throws(CommandError) in
            await monitor.connections.report().naming(target, in: monitor.status)
        }
    }
}

extension ConnectionsReport {
    /// The report with a target's name on the remotes that have one of its addresses.
    fileprivate func naming(_ target: Target?, in status: ReachabilityStatus) -> ConnectionsReport {
        guard let target, let known = status.targets.first(where: { $0.target == target }) else { return self }
        let addresses = Set(known.addresses.map(\.address.withoutZone))
        var report = self
        for position in report.remotes.indices {
            let remote = report.remotes[position].remote
            guard remote.direction == .outgoing, addresses.contains(remote.address.withoutZone) else { continue }
            guard target.port == nil || remote.port == nil || remote.port == target.port else { continue }
            report.remotes[position].target = target.description
        }
        return report
    }
}

/// The text of `connections`.
enum ConnectionText {
    /// One row for each remote; `owner` adds the owners of its connections.
    static func remotes(
        _ report: ConnectionsReport, _ style: TextStyle, owner: ((RemoteReport) -> String)? = nil
    ) -> [String] {
        guard !report.remotes.isEmpty else { return ["No connections."] }
        let heads = ["REMOTE", "TARGET", "DIR", "CONNS", "STALLED", "RTT", "RETRANS", "LIMIT", "ANSWERED"]
        var table = Table(head: heads + (owner == nil ? [] : ["OWNER"]) + ["LAST OUTCOMES (5 m)"])
        for remote in report.remotes {
            let isOutgoing = remote.remote.direction == .outgoing
            // For a peer, the port is the local one that it connects to.
            let port = remote.remote.port.map(String.init) ?? "?"
            let place = isOutgoing ? "\(remote.remote)" : "\(remote.remote.address) to :\(port)"
            var row: [Table.Cell] = [
                .init(place), .init(remote.target ?? "-"), .init(remote.remote.direction.rawValue),
                .init("\(remote.connectionCount)"), self.stalled(remote.stalledCount),
                .init(remote.shortestRoundTrip?.shortText ?? "-"), .init(remote.retransmissionText ?? "-"),
                .init(remote.limitedBy?.description ?? "-"), .init(self.answered(remote.answered)),
            ]
            if let owner { row.append(.init(owner(remote))) }
            table.add(row + [self.outcomes(of: remote)])
        }
        return table.lines(style)
    }

    /// One row for each group of remotes; `key` returns the groups that a remote is in.
    static func groups(
        _ report: ConnectionsReport, head: String, _ style: TextStyle, key: (RemoteReport) -> [String]
    ) -> [String] {
        guard !report.remotes.isEmpty else { return ["No connections."] }
        var members: [String: [RemoteReport]] = [:]
        for remote in report.remotes { for name in key(remote) { members[name, default: []].append(remote) } }
        let rows = members.map { ConnectionGroup(name: $0, remotes: $1) }.sorted {
            ($0.stalled, $0.connections, $1.name) > ($1.stalled, $1.connections, $0.name)
        }
        var table = Table(head: [head, "REMOTES", "CONNS", "STALLED", "ANSWERED", "LAST OUTCOMES (5 m)"])
        for row in rows {
            table.add([
                .init(row.name), .init("\(row.remotes.count)"), .init("\(row.connections)"), self.stalled(row.stalled),
                .init(self.answered(row.answered)), .init(self.text(of: row.outcomes, row.failures)),
            ])
        }
        return table.lines(style)
    }

    private static func stalled(_ count: Int) -> Table.Cell { .init("\(count)", count > 0 ? .bad : nil) }

    private static func answered(_ duration: Duration?) -> String {
        duration.map { "\($0.shortText) ago" } ?? "-"
    }

    private static func outcomes(of report: RemoteReport) -> Table.Cell {
        var parts: [String] = []
        let outcomes = self.text(of: report.outcomes, report.failures)
        if !outcomes.isEmpty {
            parts.append(outcomes)
            // The kernel has forgotten the port by then.
            if report.remote.port == nil, report.remote.direction == .outgoing {
                let isConnect = report.outcomes.keys.contains { $0.isOfConnect }
                parts.append("port unknown: \(isConnect ? "blocking connect" : "reset by the program")")
            }
        }
        for kind in ConnectionStall.allCases where (report.stalled[kind] ?? 0) > 0 {
            let party = report.party.map { " (\($0))" } ?? ""
            parts.append("\(kind)\(party)")
        }
        if let next = report.nextTry { parts.append("next try in \(next.shortText)") }
        return .init(parts.joined(separator: "; "))
    }

    // Failures first, each with the responsible party.
    private static func text(
        of outcomes: [ConnectionOutcome: Int], _ failures: [ConnectionOutcome: [FaultParty: Int]]
    ) -> String {
        let known = ConnectionOutcome.allCases.filter { (outcomes[$0] ?? 0) > 0 }
        return (known.filter(\.isFailure) + known.filter { !$0.isFailure }).map { outcome in
            let count = outcomes[outcome] ?? 0
            let parties = FaultParty.allCases.compactMap { party in
                failures[outcome]?[party].map { $0 == count ? "\(party)" : "\($0) \(party)" }
            }
            return "\(outcome) \(count)" + (parties.isEmpty ? "" : " (\(parties.joined(separator: ", ")))")
        }.joined(separator: ", ")
    }
}

/// Remotes that share an owner or a gateway.
private struct ConnectionGroup {
    let name: String
    let remotes: [RemoteReport]

    var connections: Int { self.remotes.reduce(0) { $0 + $1.connectionCount } }
    var stalled: Int { self.remotes.reduce(0) { $0 + $1.stalledCount } }
    var answered: Duration? { self.remotes.compactMap(\.answered).min() }
    var outcomes: [ConnectionOutcome: Int] {
        self.remotes.reduce(into: [:]) { $0.merge($1.outcomes, uniquingKeysWith: +) }
    }
    var failures: [ConnectionOutcome: [FaultParty: Int]] {
        self.remotes.reduce(into: [:]) { sum, remote in
            sum.merge(remote.failures) { $0.merging($1, uniquingKeysWith: +) }
        }
    }
}

/// Selects the remotes that `connections` shows.
struct ConnectionFilter: Sendable, Hashable {
    /// Only remotes in this network; nil for all.
    var network: IPPrefix?
    /// Only remotes with this port; nil for all.
    var port: UInt16?
    /// Only remotes of this configured target; nil for all.
    var target: String?
    /// Only remotes of this address family; nil for both.
    var family: AddressFamily?
    /// Only remotes with connections that hang.
    var isStalled = false
    /// Only remotes with connections that failed in the last five minutes.
    var isFailed = false

    /// The report with only the selected remotes.
    func apply(to report: ConnectionsReport) -> ConnectionsReport {
        var report = report
        report.remotes = report.remotes.filter(self.includes)
        return report
    }

    private func includes(_ report: RemoteReport) -> Bool {
        if let network, !network.contains(report.remote.address.withoutZone) { return false }
        if let port, report.remote.port != port { return false }
        if let target, report.target != target { return false }
        if let family, report.remote.address.family != family { return false }
        if self.isStalled, report.stalledCount == 0 { return false }
        return !self.isFailed || report.outcomes.contains { $0.key.isFailure && $0.value > 0 }
    }
}

/// Names of users and control groups; each is looked up once.
struct ConnectionOwners {
    private let hierarchy: String
    // The hierarchy is read again for an unknown number; numbers that it does not list are shown as numbers.
    private var groups: [UInt64: String] = [:]
    private var unnamed: Set<UInt64> = []
    private var users: [UInt32: String] = [:]

    /// Uses the names in a control group hierarchy (cgroups(7)); a group's number is the inode of its directory.
    init(hierarchy: String = "/sys/fs/cgroup") { self.hierarchy = hierarchy }

    private static func groups(of hierarchy: String) -> [UInt64: String] {
        var groups: [UInt64: String] = [:]
        let directories = FileManager.default.enumerator(atPath: hierarchy)
        while let path = directories?.nextObject() as? String {
            guard directories?.fileAttributes?[.type] as? FileAttributeType == .typeDirectory,
                let number = directories?.fileAttributes?[.systemFileNumber] as? NSNumber
            else { continue }
            groups[number.uint64Value] = path
        }
        return groups
    }

    private mutating func name(ofGroup number: UInt64) -> String? {
        if self.groups[number] == nil, self.unnamed.insert(number).inserted {
            self.groups.merge(Self.groups(of: self.hierarchy)) { _, new in new }
        }
        return self.groups[number]
    }

    private mutating func name(ofUser number: UInt32) -> String {
        if let name = self.users[number] { return name }
        let name = getpwuid(number).map { String(cString: $0.pointee.pw_name) } ?? "uid \(number)"
        self.users[number] = name
        return name
    }

    /// `USER` or `USER@GROUP`; the number stands for a user without a name or a control group without a path.
    mutating func text(of owner: RemoteReport.Owner) -> String {
        let user = self.name(ofUser: owner.user)
        // The root of the hierarchy is not informative.
        guard let number = owner.controlGroup, number > 1 else { return user }
        return "\(user)@\(self.name(ofGroup: number) ?? "cgroup \(number)")"
    }

    // More programs would hide the other columns.
    private static let programLimit = 3

    /// The owners of a remote's connections, then their programs as `NAME[PID]`; `-` if none are known.
    mutating func text(of remote: RemoteReport, _ programs: [SocketProgram]) -> String {
        // A program can give itself any name (PR_SET_NAME), including line feeds.
        let names = programs.prefix(Self.programLimit).map { "\($0.name.escapingControls)[\($0.pid)]" }
        let more = programs.count > Self.programLimit ? ["and \(programs.count - Self.programLimit) more"] : []
        let parts = remote.owners.map { self.text(of: $0) } + names + more
        return parts.isEmpty ? "-" : parts.joined(separator: " ")
    }
}
