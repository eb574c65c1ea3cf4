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
        var current = self.started
        let hangups = await UnixSignalsSequence(trapping: .sighup)
        for await _ in hangups.cancelOnGracefulShutdown() {
            guard let next = self.load() else { continue }
            self.logUnchangedSections(from: current, to: next)
            self.runner.update(next.transfers)
            await self.scheduler.load(next.tasks)
            current = next
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

    // The monitor is configured when it is created; open connections and watches keep the old values.
    private func logUnchangedSections(from old: Configuration, to new: Configuration) {
        var sections: [String] = []
        if old.reachability != new.reachability { sections.append("reachability") }
        if old.journal != new.journal { sections.append("journal") }
        if old.remoteWrite != new.remoteWrite { sections.append("remote_write") }
        if old.events != new.events { sections.append("events") }
        if old.metrics != new.metrics { sections.append("metrics") }
        var fixed = new.transfers
        (fixed.retry, fixed.gate) = (old.transfers.retry, old.transfers.gate)
        if fixed != old.transfers { sections.append("transfers") }
        for section in sections {
            self.logger.warning("restart required for a changed section", metadata: ["section": "\(section)"])
        }
    }
}
