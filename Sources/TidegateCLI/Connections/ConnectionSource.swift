internal import Tidegate
internal import TidegateServer

/// Where `connections` has its reports from: a running daemon, or an observer of its own.
struct ConnectionSource: Sendable {
    /// True if they come from a daemon, which has observed for a while already.
    let isDaemon: Bool
    /// Why a daemon that is there was not asked, as a sentence without a final full stop; nil if there is none, or if it
    /// was asked.
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
