internal import Tidegate
internal import TidegateDaemon

/// Waits until conditions hold: looks again at every change, and four times a second besides.
struct WaitRun: Sendable {
    /// How it ended.
    enum Outcome: Sendable, Hashable {
        case holds
        /// The first thing missing, in a sentence.
        case timedOut(String)
    }

    /// What a condition lacks.
    private struct Missing: CustomStringConvertible {
        let rung: Rung
        /// Nil while an answer is awaited.
        let reason: UnreachableReason?
        let sentence: String

        // What a server says may be long, and is not to be obeyed by a terminal.
        var description: String {
            let text = LineWrapper.printable("\(self.rung.rawValue): \(self.sentence)")
            return text.count > 240 ? "\(text.prefix(239))…" : text
        }
    }

    private let values: WaitOptions.Values
    private let look: Look
    private let ask: ConditionPoller.Asker
    private let note: @Sendable (String) -> Void

    /// A wait; `note` hears what is missing, whenever that changes.
    init(
        _ values: WaitOptions.Values, look: Look, asker: @escaping ConditionPoller.Asker,
        note: @escaping @Sendable (String) -> Void
    ) {
        self.values = values
        self.look = look
        self.ask = asker
        self.note = note
    }

    func run() async -> Outcome {
        let start = self.look.time.monotonic()
        var wait = StableWait(required: self.values.timeout == .zero ? .zero : self.values.stable)
        var lastMissing: Missing?
        let wakes = WakeSource(of: self.look.bus)
        defer { wakes.end() }
        let desk = ConditionPoller(self.values.conditions, asker: self.ask, onAnswer: wakes.wake)
        // Nobody is kept waiting for a name longer than there is time; a test needs an answer nevertheless.
        let patience = self.values.timeout.map { $0 == .zero ? Look.patience : min(Look.patience, $0) }
        _ = await self.look.monitor.firstStatus(within: patience ?? Look.patience)
        for await _ in wakes.stream {
            let status = self.look.monitor.status
            let now = self.look.time.monotonic()
            let isOver = self.values.timeout.map { now - start >= $0 } ?? false
            if !isOver || (self.values.timeout == .zero && lastMissing == nil) { desk.askAround(status, at: now) }
            let missing = self.missing(in: status, desk)
            if wait.observe(missing == nil, at: now) == .done { return .holds }
            if isOver, self.values.timeout != .zero || !desk.isAsking { return .timedOut(self.complaint(missing)) }
            // A first answer may be a good one. While a change settles its words may waver; the rung does not.
            let isAwaited = missing.map { $0.reason == nil } ?? false && desk.isAsking
            if let missing, missing.rung != lastMissing?.rung, !isOver, !isAwaited { self.note("waiting: \(missing)") }
            if !isAwaited || isOver { lastMissing = missing }
        }
        return .timedOut(lastMissing?.description ?? "interrupted")
    }

    // What the first unsatisfied condition lacks; nil where enough of them hold.
    private func missing(in status: ReachabilityStatus, _ desk: ConditionPoller) -> Missing? {
        if let why = self.look.monitor.unavailableReason {
            return Missing(
                rung: .monitor, reason: .monitorDown, sentence: "\(VerdictDescriptions.phrase(.monitorDown)): \(why)")
        }
        var first: Missing?
        for condition in self.values.conditions {
            let evidence = desk.evidence(for: condition, in: status)
            switch condition.evaluate(status, family: self.values.family, evidence: evidence) {
            case .satisfied:
                if self.values.isAnyEnough { return nil }
            case .unsatisfied(let rung, let reason, let sentence):
                first = first ?? Missing(rung: rung, reason: reason, sentence: sentence)
                if !self.values.isAnyEnough { return first }
            }
        }
        return first
    }

    private func complaint(_ missing: Missing?) -> String {
        guard let missing else { return "the conditions did not hold for \(DurationText(self.values.stable)) in time" }
        guard let limit = self.values.timeout, limit > .zero else { return missing.description }
        return "gave up after \(DurationText(limit)): \(missing)"
    }
}

/// Says when to look again; one wake may stand for many, for the status is looked at as a whole.
struct WakeSource: Sendable {
    let stream: AsyncStream<Void>
    private let continuation: AsyncStream<Void>.Continuation
    private let tasks: [Task<Void, Never>]

    /// The first wake comes at once, then one for every event, and four a second besides.
    init(of bus: EventBus) {
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        continuation.yield()
        let listener = Task {
            for await _ in bus.subscribe(.watch, bufferingNewest: 1) { continuation.yield() }
        }
        let ticker = Task {
            while (try? await Task.sleep(for: .milliseconds(250))) != nil { continuation.yield() }
        }
        self.stream = stream
        self.continuation = continuation
        self.tasks = [listener, ticker]
    }

    var wake: @Sendable () -> Void { { self.continuation.yield() } }

    func end() {
        for task in self.tasks { task.cancel() }
        self.continuation.finish()
    }
}
