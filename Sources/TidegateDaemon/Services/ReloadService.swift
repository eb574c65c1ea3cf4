internal import Logging
internal import ServiceLifecycle
internal import Tidegate
internal import UnixSignals

/// Reloads the configuration file on SIGHUP; an invalid file changes nothing.
struct ReloadService: Service {
    let file: String?
    let started: Configuration
    let scheduler: Scheduler
    let runner: ScheduledTaskRunner
    let status: ReloadStatus
    let logger: Logger

    func run() async throws {
        let hangups = await UnixSignalsSequence(trapping: .sighup)
        for await _ in hangups.cancelOnGracefulShutdown() {
            guard let next = self.load() else { continue }
            self.runner.update(next.transfers)
            await self.scheduler.load(next.tasks)
            self.logResult(of: next)
        }
    }

    private func load() -> Configuration? {
        guard let file = self.file else {
            self.logger.info("no configuration file to reload")
            return nil
        }
        do {
            let configuration = try Configuration.load(file: file)
            self.status.record(.configuration, isGood: true)
            return configuration
        } catch {
            for problem in error.problems {
                self.logger.error("invalid configuration", metadata: ["problem": "\(problem)"])
            }
            self.status.record(.configuration, isGood: false)
            return nil
        }
    }

    // Compared with what runs, and not with the file before: what needs a restart needs it until there is one.
    private func logResult(of next: Configuration) {
        let waiting = next.keysThatNeedRestart(from: self.started)
        let applied = "tasks, transfers.retry, transfers.gate"
        guard !waiting.isEmpty else {
            return self.logger.info("configuration reloaded", metadata: ["applied": "\(applied)"])
        }
        self.logger.warning(
            "configuration reloaded, restart required for changed keys",
            metadata: ["applied": "\(applied)", "not_applied": "\(waiting.joined(separator: ", "))"])
    }
}

extension Configuration {
    /// The keys whose values differ from `running`, and that are only read at the start: the monitor is configured when
    /// it is created, and open connections and watches keep the old values.
    func keysThatNeedRestart(from running: Configuration) -> [String] {
        let (new, old) = (self.reachability, running.reachability)
        let (sent, before) = (self.transfers, running.transfers)
        let changes: [(key: String, isChanged: Bool)] = [
            ("reachability.interfaces", new.excludedInterfaces != old.excludedInterfaces),
            (
                "reachability.sentinels",
                (new.ipv4Sentinels, new.ipv6Sentinels) != (old.ipv4Sentinels, old.ipv6Sentinels)
            ),
            ("reachability.targets", new.targets != old.targets),
            ("reachability.metered", new.meteredInterfaces != old.meteredInterfaces),
            ("reachability.internet_check", new.internetCheck != old.internetCheck),
            ("reachability.mark", new.mark != old.mark), ("reachability.uid", new.uid != old.uid),
            ("transfers.max_connections_per_host", sent.connectionsPerHost != before.connectionsPerHost),
            ("transfers.max_connections", sent.connections != before.connections),
            ("transfers.proxy", sent.proxy != before.proxy),
            ("transfers.tls", sent.certificateFile != before.certificateFile),
            ("transfers.budget", sent.budget != before.budget), ("journal", self.journal != running.journal),
            ("remote_write", self.remoteWrite != running.remoteWrite), ("events", self.events != running.events),
            ("metrics", self.metrics != running.metrics),
        ]
        return changes.filter(\.isChanged).map(\.key)
    }
}
