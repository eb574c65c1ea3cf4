internal import Logging
internal import ServiceLifecycle
internal import Tidegate
internal import UnixSignals

/// Reads the configuration again at every SIGHUP; a bad file changes nothing.
struct ReloadService: Service {
    let file: String?
    let started: Configuration
    let scheduler: Scheduler
    let runner: ScheduledRun
    let ledger: ReloadStatus
    let logger: Logger

    func run() async throws {
        var current = self.started
        let hangups = await UnixSignalsSequence(trapping: .sighup)
        for await _ in hangups.cancelOnGracefulShutdown() {
            guard let next = self.load() else { continue }
            self.tellWhatStays(from: current, to: next)
            self.runner.use(next.transfers)
            await self.scheduler.load(next.tasks)
            current = next
        }
    }

    private func load() -> Configuration? {
        guard let file = self.file else {
            self.logger.info("there is no configuration file to read again")
            return nil
        }
        do {
            let configuration = try Configuration.load(file: file)
            self.ledger.note(.configuration, isGood: true)
            return configuration
        } catch {
            for problem in error.problems {
                self.logger.error("configuration is bad", metadata: ["problem": "\(problem)"])
            }
            self.ledger.note(.configuration, isGood: false)
            return nil
        }
    }

    // What was given to the monitor when it was made cannot be taken back from its open connections and watches.
    private func tellWhatStays(from old: Configuration, to new: Configuration) {
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
            self.logger.warning("a change needs a restart to take effect", metadata: ["section": "\(section)"])
        }
    }
}
