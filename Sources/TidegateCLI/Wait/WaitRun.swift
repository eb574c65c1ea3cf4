internal import Tidegate
internal import TidegateDaemon

/// Waits until conditions hold: looks again at every change, and four times a second besides.
struct WaitRun {
    /// How it ended.
    enum Outcome: Sendable, Hashable {
        case holds
        /// The first thing missing, in a sentence.
        case timedOut(String)
    }

    /// What a condition lacks.
    private struct Missing: CustomStringConvertible {
        let rung: String
        let sentence: String

        var description: String { "\(self.rung): \(self.sentence)" }
    }

    private let values: WaitOptions.Values
    private let note: @Sendable (String) -> Void

    /// A wait; `note` hears what is missing, whenever that changes.
    init(_ values: WaitOptions.Values, note: @escaping @Sendable (String) -> Void) {
        self.values = values
        self.note = note
    }

    func run() async -> Outcome {
        let look = Look(at: WaitRun.targets(of: self.values.conditions))
        let checks = HostChecks(look, family: self.values.family)
        let start = look.time.monotonic()
        var wait = StableWait(required: self.values.timeout == .zero ? .zero : self.values.stable)
        var lastMissing: Missing?
        let wakes = WaitRun.wakes(of: look.bus)
        defer { wakes.end() }
        _ = await look.monitor.firstStatus(within: min(Look.patience, self.values.timeout ?? Look.patience))
        for await _ in wakes.stream {
            let missing = await self.missing(look, checks)
            let now = look.time.monotonic()
            if wait.observe(missing == nil, at: now) == .done { return .holds }
            if let limit = self.values.timeout, now - start >= limit {
                return .timedOut(self.complaint(missing, after: limit))
            }
            // While a change settles its words may waver; the rung does not.
            if let missing, missing.rung != lastMissing?.rung { self.note("waiting: \(missing)") }
            lastMissing = missing
        }
        return .timedOut(lastMissing?.description ?? "interrupted")
    }

    /// The targets that conditions name, each once.
    private static func targets(of conditions: [WaitCondition]) -> [Target] {
        conditions.compactMap(\.target).reduce(into: []) { if !$0.contains($1) { $0.append($1) } }
    }

    // What the first unsatisfied condition lacks; nil where enough of them hold.
    private func missing(_ look: Look, _ checks: HostChecks) async -> Missing? {
        if let why = look.monitor.blindness {
            return Missing(rung: "monitor", sentence: "\(VerdictWords.phrase(.monitorDown)): \(why)")
        }
        let status = look.monitor.status()
        var first: Missing?
        for condition in self.values.conditions {
            let check = await checks.result(for: condition, in: status)
            switch condition.evaluate(status, family: self.values.family, check: check) {
            case .satisfied:
                if self.values.isAnyEnough { return nil }
            case .unsatisfied(let rung, _, let sentence):
                first = first ?? Missing(rung: rung.rawValue, sentence: sentence)
                if !self.values.isAnyEnough { return first }
            }
        }
        return first
    }

    private func complaint(_ missing: Missing?, after limit: Duration) -> String {
        guard let missing else { return "the conditions did not hold for \(DurationText(self.values.stable)) in time" }
        return limit == .zero ? missing.description : "gave up after \(DurationText(limit)): \(missing)"
    }

    private struct Wakes {
        let stream: AsyncStream<Void>
        let end: @Sendable () -> Void
    }

    // One wake may stand for many: the status is looked at as a whole.
    private static func wakes(of bus: EventBus) -> Wakes {
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        continuation.yield()
        let listener = Task {
            for await _ in bus.subscribe(.watch, keepingNewest: 1) { continuation.yield() }
        }
        let ticker = Task {
            while (try? await Task.sleep(for: .milliseconds(250))) != nil { continuation.yield() }
        }
        return Wakes(stream: stream) {
            listener.cancel()
            ticker.cancel()
            continuation.finish()
        }
    }
}
