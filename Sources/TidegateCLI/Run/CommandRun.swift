internal import Tidegate
internal import TidegateDaemon

/// The shell around ``RunMachine``: waits for the gate, runs the command, and watches for path losses during the run.
struct CommandRun: Sendable {
    let options: GateOptions.Parsed
    let retryLimit: Int
    let command: [String]
    let display: WaitDisplay
    /// Prints a line about a retry.
    let print: @Sendable (String) -> Void

    /// The exit status; nil for success.
    func run() async -> CommandError? {
        let inherited = Inheritance.current()
        let monitor = OneShotMonitor(targets: self.options.wait.targets)
        // Network changes and signals bound the buffer in practice; the loop below never blocks for long.
        let (inputs, source) = AsyncStream.makeStream(
            of: RunMachine.Input.self, bufferingPolicy: .bufferingNewest(1024))
        let losses = self.watchLosses(monitor, source)
        // Before the command starts: a signal that ended this process would never reach the command.
        let trapped = await Signals.forwarded(except: inherited.ignoredSignals)
        let signals = Task { for await number in trapped { source.yield(.signal(number)) } }
        defer {
            losses.cancel()
            signals.cancel()
            // A signal may leave a line about waiting on the terminal.
            self.display.clear()
        }
        let runner = EffectRunner(monitor: monitor, source: source, inherited: inherited, run: self)
        var machine = RunMachine(retryLimit: self.retryLimit)
        var child: ChildProcess?
        runner.wait()
        for await input in inputs {
            for effect in machine.handle(input) {
                if case .exit(let code, let message) = effect {
                    return code == 0 ? nil : CommandError(ExitStatus(number: code), message)
                }
                child = runner.perform(effect, on: child)
            }
        }
        return nil
    }

    private func watchLosses(
        _ monitor: OneShotMonitor, _ source: AsyncStream<RunMachine.Input>.Continuation
    ) -> Task<Void, Never> {
        let loss = PathLoss(family: self.options.wait.family, targets: self.options.wait.targets)
        let events = monitor.bus.subscribe(.watch, bufferingNewest: 256) { event in
            if case .path = event.payload { true } else { false }
        }
        return Task {
            for await event in events {
                let description = loss.description(of: event, among: monitor.reachability.status.links)
                if let description { source.yield(.lost(description)) }
            }
        }
    }

    /// Performs effects and reports their results as inputs.
    private struct EffectRunner: Sendable {
        let monitor: OneShotMonitor
        let source: AsyncStream<RunMachine.Input>.Continuation
        let inherited: Inheritance
        let run: CommandRun

        /// Performs any effect except the exit; returns the command that runs afterwards.
        func perform(_ effect: RunMachine.Effect, on child: ChildProcess?) -> ChildProcess? {
            switch effect {
            case .wait: self.wait()
            case .start: return self.start()
            case .forward(let number): child?.forward(number)
            case .print(let text): self.run.print(text)
            case .startGrace: self.startGrace()
            case .exit: break
            }
            return child
        }

        func wait() {
            Task {
                let message = await self.monitor.wait(self.run.options, self.run.display)
                self.source.yield(message.map { .gaveUp($0) } ?? .opened)
            }
        }

        private func start() -> ChildProcess? {
            do throws(CommandError) {
                let child = try ChildProcess.start(self.run.command, passingOn: self.inherited)
                let source = self.source
                child.onExit { source.yield(.exited($0)) }
                return child
            } catch {
                self.source.yield(.startFailed(error))
                return nil
            }
        }

        private func startGrace() {
            Task {
                try? await Task.sleep(for: RunMachine.grace)
                self.source.yield(.graceExpired)
            }
        }
    }
}

/// Recognizes events in which a path was lost or replaced.
struct PathLoss: Sendable {
    /// The family whose default path counts; nil for both.
    let family: AddressFamily?
    /// The targets whose paths also count.
    let targets: [Target]

    /// What was lost; nil if the event is not a loss.
    func description(of event: Event, among links: [Link]) -> String? {
        guard case .path(let change) = event.payload, self.isRelevant(change.scope), change.from.level >= .routed else {
            return nil
        }
        if change.to.level == .unknown { return nil }
        if change.to.level < .routed { return VerdictDescriptions.phrase(change.to, among: links) ?? "no path" }
        guard let before = change.from.path, let after = change.to.path, !before.isSamePath(as: after) else {
            return nil
        }
        return "moved from \(before) to \(after)"
    }

    private func isRelevant(_ scope: PathEvent.Scope) -> Bool {
        switch scope {
        case .global: self.family == nil
        case .family(let family): self.family == nil || family == self.family
        case .target(let target): self.targets.contains(target)
        }
    }
}
