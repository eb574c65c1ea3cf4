package import TidegateCore

/// Runs scheduled probes: the shell around ``ProbeScheduleMachine``.
package actor ProbeScheduler {
    /// Performs one run; nil if the probe can no longer run.
    package typealias Run = @Sendable (ScheduledProbe) async -> ProbeReport?

    /// Calls a function once after a delay, on any thread.
    package typealias Call = @Sendable (_ delay: Duration, @escaping @Sendable () -> Void) -> Void

    /// Stores the results that outlive the process, by the probe's identity.
    package typealias Keep = @Sendable (_ identity: String, ScheduledProbeReport.Past) -> Void

    // A killed process loses at most the runs of the last minute.
    private static let keepInterval = Duration.seconds(60)

    private let keepPast: Keep
    private var keptAt: MonotonicTime?
    private let time: any TimeSource
    private let call: Call
    private let run: Run
    private let publish: @Sendable (ProbeEvent) -> Void
    private var machine = ProbeScheduleMachine()
    private var generator = SystemRandomNumberGenerator()
    private var runs: [ProbeScheduleMachine.ID: Task<Void, Never>] = [:]
    // When the next call is due; calls cannot be cancelled, and an early call only checks again.
    private var calledAt: MonotonicTime?
    private var isStopped = false

    /// A scheduler without probes; their events go to `publish`.
    package init(
        time: any TimeSource, call: @escaping Call, publish: @escaping @Sendable (ProbeEvent) -> Void,
        keep: @escaping Keep = { _, _ in }, run: @escaping Run
    ) {
        self.keepPast = keep
        self.time = time
        self.call = call
        self.publish = publish
        self.run = run
    }

    /// The reports of all probes, in the order of the configuration.
    package var reports: [ScheduledProbeReport] { self.machine.reports(at: self.time.monotonic(), self.time.wall()) }

    /// Replaces the probes; unchanged ones continue and keep their results.
    ///
    /// `past` contains the results that an earlier process stored.
    package func load(_ probes: [ScheduledProbe], past: [String: ScheduledProbeReport.Past] = [:]) {
        guard !self.isStopped else { return }
        self.perform(self.machine.load(probes, past: past, at: self.time.monotonic()))
    }

    /// Records that a family's path came back or changed.
    package func pathChanged(_ family: AddressFamily) {
        self.machine.pathChanged(family, at: self.time.monotonic())
        self.perform([])
    }

    /// Cancels all runs without waiting for them, and starts no more.
    package func stop() {
        if !self.isStopped { self.keep() }
        self.isStopped = true
        for run in self.runs.values { run.cancel() }
        self.runs = [:]
    }

    private func perform(_ effects: [ProbeScheduleMachine.Effect]) {
        guard !self.isStopped else { return }
        for effect in effects {
            switch effect {
            case .run(let id, let probe): self.start(id, probe)
            case .cancel(let id): self.runs.removeValue(forKey: id)?.cancel()
            case .publish(let event): self.publish(event)
            }
        }
        self.armTimer()
    }

    private func start(_ id: ProbeScheduleMachine.ID, _ probe: ScheduledProbe) {
        self.runs[id] = Task { [run, weak self] in
            let report = await run(probe)
            await self?.finished(id, report)
        }
    }

    private func finished(_ id: ProbeScheduleMachine.ID, _ report: ProbeReport?) {
        // Ignores a run that was cancelled.
        guard self.runs.removeValue(forKey: id) != nil else { return }
        let now = self.time.monotonic()
        self.perform(self.machine.finished(id, report, at: now, self.time.wall()))
        if self.keptAt.map({ now - $0 >= Self.keepInterval }) ?? true { self.keep() }
    }

    private func keep() {
        self.keptAt = self.time.monotonic()
        for report in self.reports { if let past = report.past { self.keepPast(report.probe.identity, past) } }
    }

    private func tick(_ deadline: MonotonicTime) {
        if self.calledAt == deadline { self.calledAt = nil }
        guard !self.isStopped else { return }
        self.perform(self.machine.tick(at: self.time.monotonic(), using: &self.generator))
    }

    private func armTimer() {
        guard let deadline = self.machine.deadline, self.calledAt.map({ deadline < $0 }) ?? true else { return }
        self.calledAt = deadline
        self.call(max(.zero, deadline - self.time.monotonic())) { [weak self] in
            Task { await self?.tick(deadline) }
        }
    }
}
