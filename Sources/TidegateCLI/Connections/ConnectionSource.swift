internal import Foundation
internal import Tidegate
internal import TidegateServer

/// Where `connections` has its reports from: a running daemon, or an observer of its own.
struct ConnectionSource: Sendable {
    /// True if they come from a daemon, which has observed for a while already.
    let isDaemon: Bool
    /// Why a running daemon was not asked, as a sentence without a final full stop; nil without a daemon, or if it was
    /// asked.
    let note: String?
    /// What is known now.
    let report: @Sendable () async throws(CommandError) -> ConnectionsReport

    // It only says what it knows already.
    private static let limit = Duration.seconds(2)

    /// A daemon that observes connections, or else an observer that begins now and knows one target at most.
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
        /// A daemon observes connections.
        case observes
        /// There is no daemon.
        case noDaemon
        /// There may be one, but it is of no use, for this reason.
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
        // Paths say whose failure a stall is, and names are resolved for them.
        await monitor.waitForFirstStatus(within: .seconds(2))
        return ConnectionSource(isDaemon: false, note: note) { () throws(CommandError) in
            await monitor.connections.report().naming(target, in: monitor.status)
        }
    }
}

extension ConnectionsReport {
    /// The report with a target's name at the remotes that are its addresses.
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
    /// One row for each remote; `owner` adds who has the connections.
    static func remotes(
        _ report: ConnectionsReport, _ style: TextStyle, owner: ((RemoteReport) -> String)? = nil
    ) -> [String] {
        guard !report.remotes.isEmpty else { return ["No connections."] }
        let heads = ["REMOTE", "TARGET", "DIR", "CONNS", "STALLED", "RTT", "RETRANS", "ANSWERED"]
        var table = Table(head: heads + (owner == nil ? [] : ["OWNER"]) + ["LAST OUTCOMES (5 m)"])
        for remote in report.remotes {
            var row: [Table.Cell] = [
                .init(remote.remote.placeText), .init(remote.target ?? "-"), .init(remote.remote.direction.rawValue),
                .init("\(remote.connectionCount)"), self.stalled(remote.stalledCount),
                .init(remote.shortestRoundTrip?.shortText ?? "-"), .init(remote.retransmissionText ?? "-"),
                .init(self.answered(remote.answered)),
            ]
            if let owner { row.append(.init(owner(remote))) }
            table.add(row + [self.outcomes(of: remote)])
        }
        return table.lines(style)
    }

    /// One row for each group of remotes; `key` says which groups a remote is in.
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

    /// What is missing, a sentence each.
    static func caveats(_ report: ConnectionsReport) -> [String] {
        var lines: [String] = []
        if report.mode != .event {
            let reason = report.reason.map { ": \($0)" } ?? ""
            lines.append("connections are observed by \(report.mode.description)\(reason)")
        }
        if report.dropped > 0 {
            lines.append("the kernel dropped \(report.dropped) messages, so that some ends are missing")
        }
        return lines
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
            // The kernel has forgotten it by then.
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

    // Failures first, with whose they were.
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

/// Remotes that have something in common.
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

extension Remote {
    /// `ADDRESS:PORT`, also of a peer, whose connections come to this host's port.
    fileprivate var placeText: String {
        self.direction == .outgoing ? self.description : "\(self.address) to :\(self.port.map(String.init) ?? "?")"
    }
}

/// Which remotes `connections` shows.
struct ConnectionFilter: Sendable, Hashable {
    /// Those of a network; nil for all.
    var network: IPPrefix?
    /// Those of a port; nil for all.
    var port: UInt16?
    /// Those of a configured target; nil for all.
    var target: String?
    /// Those of an address family; nil for both.
    var family: AddressFamily?
    /// Only those with connections that hang.
    var isStalled = false
    /// Only those with connections that failed in the last five minutes.
    var isFailed = false

    /// The report with the remotes that are wanted.
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
    // The hierarchy is read when a number comes up that is not known; those that it did not have stay numbers.
    private var groups: [UInt64: String] = [:]
    private var unnamed: Set<UInt64> = []
    private var users: [UInt32: String] = [:]

    /// Names of the control groups of a hierarchy (cgroups(7)), whose numbers are those of its directories.
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

    /// `USER` or `USER@GROUP`: the user's name or number, and the control group's path or number.
    mutating func text(of owner: RemoteReport.Owner) -> String {
        let user = self.name(ofUser: owner.user)
        // The root of the hierarchy says nothing.
        guard let number = owner.controlGroup, number > 1 else { return user }
        return "\(user)@\(self.name(ofGroup: number) ?? "cgroup \(number)")"
    }

    // More would hide the other columns.
    private static let programLimit = 3

    /// The owners of a remote's connections, then their programs as `NAME[PID]`; `-` if nothing is known of them.
    mutating func text(of remote: RemoteReport, _ programs: [SocketProgram]) -> String {
        // A program gives itself any name (PR_SET_NAME), line feeds too.
        let names = programs.prefix(Self.programLimit).map { "\($0.name.escapingControls)[\($0.pid)]" }
        let more = programs.count > Self.programLimit ? ["and \(programs.count - Self.programLimit) more"] : []
        let parts = remote.owners.map { self.text(of: $0) } + names + more
        return parts.isEmpty ? "-" : parts.joined(separator: " ")
    }
}
