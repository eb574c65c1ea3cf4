internal import FoundationEssentials
internal import Synchronization
package import TidegateCore

/// Storage in which the status page's history outlives the process.
package struct PageHistoryStorage: Sendable {
    let past: [String]
    let keep: @Sendable (WallTime, String) -> Void

    /// A storage with the entries of earlier processes, oldest first.
    ///
    /// `keep` is called on the thread that publishes an event, and must not block.
    package init(past: [String], keep: @escaping @Sendable (WallTime, String) -> Void) {
        self.past = past
        self.keep = keep
    }
}

/// Records the history that the page shows.
final class PageHistory: EventSink {
    private let record: Mutex<HistoryRecord>
    private let configuration: EndpointConfiguration
    private let keep: (@Sendable (WallTime, String) -> Void)?

    init(from start: WallTime, configuration: EndpointConfiguration, storage: PageHistoryStorage? = nil) {
        var record = HistoryRecord(from: start)
        let decoder = JSONDecoder()
        // Lines of another version that this version cannot decode are skipped.
        let entries = (storage?.past ?? []).compactMap {
            try? decoder.decode(HistoryRecord.Entry.self, from: Data($0.utf8))
        }
        record.restore(entries)
        self.record = Mutex(record)
        self.configuration = configuration
        self.keep = storage?.keep
    }

    /// The current record.
    func snapshot() -> HistoryRecord { self.record.withLock { $0 } }

    func receive(_ event: Event) {
        switch event.payload {
        case .task(let task): self.receive(task, event)
        case .path(let path):
            if path.scope == .global, path.from.level != path.to.level {
                self.add(.init(time: event.time, from: path.from.level, to: path.to.level))
            }
            self.addLine(of: event)
        case .daemon(.stopping):
            self.addLine(of: event)
            self.add(.init(time: event.time, from: nil, to: nil))
            self.write(self.record.withLock { $0.requests.closeSlice() })
            self.writeResults(at: event.time, isLast: true)
        case .targetCheck(let check): self.receive(check, event)
        case .session(.attributionRevised(let task, let attempt, from: _, let party)):
            let entry = self.record.withLock { $0.revise(.init(task: task, number: attempt), to: party) }
            if let entry { self.write(entry, at: event.time) }
            self.writeResults(at: event.time)
        case .session(.poolReplaced): break
        case .diagnosis, .quality, .uplink, .link, .netlink, .session, .probe, .connection, .incident, .daemon:
            self.addLine(of: event)
        }
    }

    private func receive(_ check: TargetCheckEvent, _ event: Event) {
        let phases = [check.phases.connect, check.phases.tls, check.phases.processing].compactMap(\.self)
        let latency = check.failure == nil ? phases.reduce(.zero, +) : nil
        let isNews = self.record.withLock { $0.add(.init(time: event.time, latency: latency), of: check.target) }
        if isNews { self.keepLine(of: event) }
    }

    // MARK: Tasks

    private func receive(_ task: TaskEvent, _ event: Event) {
        switch task.kind {
        case .attemptSucceeded: self.count(at: event.time)
        case .attemptFailed(let summary, let failure, let attribution, let isCharged):
            guard failure != .cancelled else { return }
            let isPathLoss = TaskEvent.isPathLoss(failure, attribution, isCharged: isCharged)
            let entry = RequestSlice.Failure(
                attribution?.party ?? .unknown, subject: isPathLoss ? "" : summary.host ?? "",
                cause: isPathLoss ? "the path was lost" : failure.clause(status: summary.status, attribution),
                isPathLoss: isPathLoss, at: event.time)
            let isRevisable = attribution?.doubt != nil
            self.count(at: event.time) { record in
                record.requests.add(
                    entry, revisableAs: isRevisable ? .init(task: task.id, number: summary.number) : nil)
            }
        case .completed(let result): self.complete(result, at: event.time)
        default: self.addLine(of: event)
        }
    }

    private func complete(_ result: TaskResult, at time: WallTime) {
        let url = self.configuration.redaction.text(of: result.url)
        // The clock of the session ticks once a turn, which a fast response takes less than.
        let phases = PhaseDurations.Phase.allCases.compactMap { result.phases[$0] }.reduce(.zero, +)
        let text =
            switch result.outcome {
            case .success: "\(ByteText(result.bytes)) in \(max(result.duration, phases).shortText)"
            case .failure: result.explanation ?? result.failure?.description ?? "failed"
            case .cancelled: "cancelled"
            }
        let party = result.outcome == .failure ? result.attribution?.party ?? .unknown : nil
        let entry = TaskResults.Entry(result.outcome, of: result.id, at: time, text: text, party: party)
        let name = result.name ?? result.key
        self.record.withLock { record in
            record.add(entry, of: name ?? "\(result.method) \(url)", isNamed: name != nil)
            if let name { record.keep(.init(name: name, entry: entry)) }
            // The page has already reported a failed attempt.
            guard result.outcome == .failure, result.attempts == 0 else { return }
            record.requests.add(
                RequestSlice.Failure(party ?? .unknown, subject: name ?? url, cause: text, at: time))
        }
        self.writeResults(at: time)
    }

    private func count(at time: WallTime, _ add: (inout HistoryRecord) -> Void = { _ in }) {
        self.change(at: time) { record in
            record.requests.countRequest(at: time)
            add(&record)
        }
    }

    // MARK: Writing

    private func add(_ change: HistoryRecord.LevelChange) {
        self.record.withLock { $0.add(change) }
        self.write(
            .level(at: change.time.microseconds, from: change.from?.rawValue, to: change.to?.rawValue),
            at: change.time)
    }

    private func addLine(of event: Event) {
        if event.relevance >= .page { self.keepLine(of: event) }
    }

    private func keepLine(of event: Event) {
        let line = EventLine(event, targets: self.configuration.targetNames)
        self.change(at: event.time) { $0.append(line) }
        // A journal that cannot write would fail again on the line that says so, without end.
        if case .daemon(.journal(.failed)) = event.payload { return }
        self.write(.line(line), at: event.time)
    }

    /// Changes the record, and writes slices that have ended.
    private func change(at time: WallTime, _ change: (inout HistoryRecord) -> Void) {
        let over = self.record.withLock { record in
            let over = record.requests.closeSlice(before: time)
            change(&record)
            return over
        }
        self.write(over)
        self.writeResults(at: time)
    }

    private func writeResults(at time: WallTime, isLast: Bool = false) {
        let entry = self.record.withLock { $0.takeUnsavedResults(at: isLast ? nil : time) }
        if let entry { self.write(entry, at: time) }
    }

    private func write(_ slice: RequestSlice?) {
        guard let slice else { return }
        self.write(.requests(slice), at: slice.start)
    }

    private func write(_ entry: @autoclosure () -> HistoryRecord.Entry, at time: WallTime) {
        guard let keep = self.keep, let data = try? JSONEncoder().encode(entry()) else { return }
        keep(time, String(decoding: data, as: UTF8.self))
    }
}
