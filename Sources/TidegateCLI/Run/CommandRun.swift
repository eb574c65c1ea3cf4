internal import Tidegate
internal import TidegateDaemon

/// Carries out what the machine decides: waits for the path, runs the command, and watches the path meanwhile.
struct CommandRun: Sendable {
    private let values: RunOptions.Values
    private let command: [String]
    private let note: @Sendable (String) -> Void

    /// A run of `command`; `note` hears of waiting and retrying.
    init(_ values: RunOptions.Values, command: [String], note: @escaping @Sendable (String) -> Void) {
        self.values = values
        self.command = command
        self.note = note
    }

    /// How the whole ended; nil for a success.
    func run() async -> Ending? {
        let look = Look(at: self.values.gate.targets)
        // What is not read yet is bounded by what the network and people do; the reader is never long away.
        let (inputs, source) = AsyncStream.makeStream(
            of: RunMachine.Input.self, bufferingPolicy: .bufferingNewest(1024))
        let ignored = ChildProcess.ignoredSignals()
        let losses = self.losses(look, source)
        let signals = Task { await Signals.onAny(except: ignored) { source.yield(.signal($0)) } }
        defer {
            losses.cancel()
            signals.cancel()
        }
        let hand = EffectRunner(look: look, source: source, ignored: ignored, run: self)
        var machine = RunMachine(retryLimit: self.values.retryLimit)
        var child: ChildProcess?
        hand.wait()
        for await input in inputs {
            for effect in machine.handle(input) {
                if case .finish(let code, let message) = effect {
                    return code == 0 ? nil : Ending(.command(code), message)
                }
                child = hand.carryOut(effect, on: child)
            }
        }
        return nil
    }

    private func losses(_ look: Look, _ source: AsyncStream<RunMachine.Input>.Continuation) -> Task<Void, Never> {
        let loss = PathLoss(family: self.values.gate.family, targets: self.values.gate.targets)
        let events = look.bus.subscribe(.watch, bufferingNewest: 256) { event in
            if case .path = event.payload { true } else { false }
        }
        return Task {
            for await event in events {
                let words = loss.words(of: event, among: look.monitor.status.links)
                if let words { source.yield(.lost(words)) }
            }
        }
    }

    /// Does what effects say and reports what came of it.
    private struct EffectRunner: Sendable {
        let look: Look
        let source: AsyncStream<RunMachine.Input>.Continuation
        let ignored: Set<Int32>
        let run: CommandRun

        /// Carries out anything but the end; gives the command that runs now.
        func carryOut(_ effect: RunMachine.Effect, on child: ChildProcess?) -> ChildProcess? {
            switch effect {
            case .wait: self.wait()
            case .start: return self.start()
            case .forward(let number): child?.forward(number)
            case .note(let text): self.run.note(text)
            case .startGrace: self.startGrace()
            case .finish: break
            }
            return child
        }

        func wait() {
            Task {
                let asker = ConditionAsker(self.look, self.run.values.gate)
                let wait = WaitRun(self.run.values.gate, look: self.look, asker: asker.ask, note: self.run.note)
                switch await wait.run() {
                case .holds: self.source.yield(.opened)
                case .timedOut(let missing): self.source.yield(.gaveUp(missing))
                }
            }
        }

        private func start() -> ChildProcess? {
            do throws(Ending) {
                let child = try ChildProcess.start(self.run.command, ignoring: self.ignored)
                let source = self.source
                child.onEnd { source.yield(.ended($0)) }
                return child
            } catch {
                self.source.yield(.notStarted(error))
                return nil
            }
        }

        private func startGrace() {
            Task {
                try? await Task.sleep(for: RunMachine.grace)
                self.source.yield(.graceOver)
            }
        }
    }
}
