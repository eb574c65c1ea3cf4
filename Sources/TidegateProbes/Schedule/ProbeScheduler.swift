package import TidegateCore

/// Makes probes on their schedule: the shell around ``ProbeScheduleMachine``.
package actor ProbeScheduler {
    /// Makes one run; nil if there is nothing to run any more.
    package typealias Run = @Sendable (ScheduledProbe) async -> ProbeReport?

    /// Calls once after a delay, on any thread.
    package typealias Call = @Sendable (_ delay: Duration, @escaping @Sendable () -> Void) -> Void

    /// Keeps what is to outlive the process, by the probe's identity.
    package typealias Keep = @Sendable (_ identity: String, ScheduledProbeReport.Past) -> Void

    // A process that is killed loses the runs of a minute at most.
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
    // When a call comes; calls cannot be taken back, and one that is too early only looks again.
    private var calledAt: MonotonicTime?
    private var isStopped = false

    /// A scheduler without probes; what happens to them goes to `publish`.
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

    /// What is known of every probe, in the order of the configuration.
    package var reports: [ScheduledProbeReport] { self.machine.reports(at: self.time.monotonic(), self.time.wall()) }

    /// Replaces the probes; those that have not changed go on, and keep what was found.
    ///
    /// `past` is what an earlier process kept.
    package func load(_ probes: [ScheduledProbe], past: [String: ScheduledProbeReport.Past] = [:]) {
        guard !self.isStopped else { return }
        self.perform(self.machine.load(probes, past: past, at: self.time.monotonic()))
    }

    /// Records that a family's path came back, or leads elsewhere.
    package func pathChanged(_ family: AddressFamily) {
        self.machine.pathChanged(family, at: self.time.monotonic())
        self.perform([])
    }

    /// Ends all runs, without waiting for them, and starts no more.
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
        // Not one that was given up.
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
