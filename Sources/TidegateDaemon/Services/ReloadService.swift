internal import Logging
internal import ServiceLifecycle
internal import Tidegate
internal import TidegateProbes
internal import UnixSignals

/// Reloads the configuration file on SIGHUP; an invalid file changes nothing.
struct ReloadService: Service {
    let file: String?
    let started: Configuration
    let scheduler: Scheduler
    let runner: ScheduledTaskRunner
    let probes: ProbeRunner
    let probeScheduler: ProbeScheduler
    let status: ReloadStatus
    let logger: Logger

    func run() async throws {
        let hangups = await UnixSignalsSequence(trapping: .sighup)
        for await _ in hangups.cancelOnGracefulShutdown() {
            guard let next = self.load() else { continue }
            self.runner.update(next.transfers)
            self.probes.update(next.probes)
            await self.probeScheduler.load(next.scheduledProbes)
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
            for warning in configuration.secretFiles.compactMap(SecretFile.warning(about:)) {
                self.logger.warning("\(warning)")
            }
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
        let applied = "tasks, transfers.retry, transfers.gate, modules, probe_targets, probes"
        guard !waiting.isEmpty else {
            return self.logger.info("configuration reloaded", metadata: ["applied": "\(applied)"])
        }
        self.logger.warning(
            "configuration reloaded, restart required for changed keys",
            metadata: ["applied": "\(applied)", "not_applied": "\(waiting.joined(separator: ", "))"])
    }
}
