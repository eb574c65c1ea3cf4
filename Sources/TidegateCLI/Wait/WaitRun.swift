internal import Tidegate
internal import TidegateDaemon

/// Waits until conditions hold: evaluates them on every event, and four times a second.
struct WaitRun: Sendable {
    enum Outcome: Sendable, Hashable {
        case holds
        /// A message that names the first condition that is not met.
        case timedOut(String)
    }

    private let options: WaitOptions.Parsed
    private let monitor: OneShotMonitor
    private let check: ConditionPoller.Check
    private let print: @Sendable (String) -> Void

    /// A wait; `print` receives a line about the unmet condition whenever its rung changes.
    init(
        _ options: WaitOptions.Parsed, monitor: OneShotMonitor, check: @escaping ConditionPoller.Check,
        print: @escaping @Sendable (String) -> Void
    ) {
        self.options = options
        self.monitor = monitor
        self.check = check
        self.print = print
    }

    func run() async -> Outcome {
        let start = self.monitor.time.monotonic()
        var wait = StableWait(required: self.options.timeout == .zero ? .zero : self.options.stable)
        var lastUnmet: UnmetCondition?
        let wakes = WakeSource(of: self.monitor.bus)
        defer { wakes.finish() }
        let poller = ConditionPoller(self.options.conditions, check: self.check, onResult: wakes.wake)
        // Name resolution may not exceed the timeout, except for a single test, which needs a result.
        let limit = self.options.timeout.map { $0 == .zero ? OneShotMonitor.resolveTimeout : $0 }
        _ = await self.monitor.reachability.firstStatus(
            within: min(OneShotMonitor.resolveTimeout, limit ?? OneShotMonitor.resolveTimeout))
        for await _ in wakes.stream {
            let status = self.monitor.reachability.status
            let now = self.monitor.time.monotonic()
            let isOver = self.options.timeout.map { now - start >= $0 } ?? false
            if !isOver || (self.options.timeout == .zero && lastUnmet == nil) { poller.pollAll(status, at: now) }
            let unmet = self.unmetCondition(in: status, poller)
            if wait.observe(unmet == nil, at: now) == .done { return .holds }
            if isOver, self.options.timeout != .zero || !poller.isChecking {
                return .timedOut(self.timeoutMessage(unmet))
            }
            // Nothing is printed before the first result, or when only the text changes while a change settles.
            let isPending = unmet.map { $0.reason == nil } ?? false && poller.isChecking
            if let unmet, unmet.rung != lastUnmet?.rung, !isOver, !isPending { self.print("waiting: \(unmet)") }
            if !isPending || isOver { lastUnmet = unmet }
        }
        return .timedOut(lastUnmet?.description ?? "interrupted")
    }

    // The first condition that is not met; nil if enough of them hold.
    private func unmetCondition(in status: ReachabilityStatus, _ poller: ConditionPoller) -> UnmetCondition? {
        if let error = self.monitor.reachability.unavailableReason {
            return UnmetCondition(
                rung: .monitor, reason: .monitorDown, message: "\(UnreachableReason.monitorDown): \(error)")
        }
        var first: UnmetCondition?
        for condition in self.options.conditions {
            let evidence = poller.evidence(for: condition, in: status)
            switch condition.evaluate(status, family: self.options.family, evidence: evidence) {
            case .satisfied:
                if self.options.isAnyEnough { return nil }
            case .unsatisfied(let rung, let reason, let message):
                first = first ?? UnmetCondition(rung: rung, reason: reason, message: message)
                if !self.options.isAnyEnough { return first }
            }
        }
        return first
    }

    private func timeoutMessage(_ unmet: UnmetCondition?) -> String {
        guard let unmet else { return "the conditions did not hold for \(DurationText(self.options.stable)) in time" }
        guard let limit = self.options.timeout, limit > .zero else { return unmet.description }
        return "gave up after \(DurationText(limit)): \(unmet)"
    }
}

/// A condition that does not hold: the rung and why.
private struct UnmetCondition: CustomStringConvertible {
    let rung: Rung
    /// Nil while a check is pending.
    let reason: UnreachableReason?
    let message: String

    // Text of a server may be long, and must not control the terminal.
    var description: String {
        let text = LineWrapper.printable("\(self.rung.rawValue): \(self.message)")
        return text.count > 240 ? "\(text.prefix(239))…" : text
    }
}

/// Wakes the wait when the status may have changed; one wake may stand for several events.
struct WakeSource: Sendable {
    let stream: AsyncStream<Void>
    private let continuation: AsyncStream<Void>.Continuation
    private let tasks: [Task<Void, Never>]

    /// The first wake is immediate; then one for every event, and four per second.
    init(of bus: EventBus) {
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        continuation.yield()
        let subscriber = Task {
            for await _ in bus.subscribe(.watch, bufferingNewest: 1) { continuation.yield() }
        }
        let ticker = Task {
            while (try? await Task.sleep(for: .milliseconds(250))) != nil { continuation.yield() }
        }
        self.stream = stream
        self.continuation = continuation
        self.tasks = [subscriber, ticker]
    }

    var wake: @Sendable () -> Void { { self.continuation.yield() } }

    func finish() {
        for task in self.tasks { task.cancel() }
        self.continuation.finish()
    }
}
