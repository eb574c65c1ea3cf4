internal import TidegateLoop
internal import TidegateMetrics
internal import TidegateCore
internal import TidegateSession

/// Takes samples, keeps them and has them sent; lives on the writer's thread, which may wait for the disk.
final class RemoteWriteWorker: LoopHandler {
    enum Command: Sendable {
        case start
        case tryFailed(RemoteWriteFailure)
        case ended(SendOutcome)
        /// Keeps what is there and sends nothing more.
        case stop(done: @Sendable () -> Void)
    }

    /// What it works with.
    struct Tools: Sendable {
        let configuration: RemoteWriteConfiguration
        let time: any TimeSource
        let collect: @Sendable () -> [MetricSample]
        let onEvent: @Sendable (RemoteWriteEvent) -> Void
        let session: Session
        let line: WriterLine
    }

    private enum Alarm: UInt64 { case collect, rest }

    /// How many samples one request holds; receivers bound a request's size.
    private static let batch = 2000

    private let loop: Loop
    private let tools: Tools
    private let folder: SegmentFolder
    private var machine: WriterMachine
    private var ledger: StaleSeriesTracker
    private var nextSequence: UInt64 = 1
    private var due: MonotonicTime
    private var isOver = false

    init(loop: Loop, tools: Tools) {
        self.loop = loop
        self.tools = tools
        self.folder = SegmentFolder(tools.configuration.directory)
        self.machine = WriterMachine(bound: tools.configuration.bound)
        self.ledger = StaleSeriesTracker(external: tools.configuration.labels)
        self.due = loop.now
    }

    func receive(_ command: Command) {
        switch command {
        case .start: self.start()
        case .tryFailed(let failure): self.feed(.tryFailed(failure))
        case .ended(let outcome): self.feed(.ended(outcome))
        case .stop(let done):
            self.collect()
            self.isOver = true
            self.feed(.stop)
            done()
        }
    }

    func timerFired(_ token: UInt64) {
        switch Alarm(rawValue: token) {
        case .collect:
            // The session may take a while to end: nobody would count what is taken meanwhile.
            guard !self.isOver else { return }
            self.collect()
            self.scheduleCollection()
        case .rest: self.feed(.rested)
        case nil: break
        }
    }

    private func start() {
        // A directory that cannot be had is told with the first samples that it does not take.
        let left = (try? self.folder.open()) ?? []
        self.nextSequence = (left.last?.sequence ?? 0) + 1
        self.feed(.found(left))
        // At once, so that a counter is seen at its first value.
        self.collect()
        self.scheduleCollection()
    }

    // MARK: Samples

    // At even distances; turns that were slept through are not made up for.
    private func scheduleCollection() {
        self.due = self.due + self.tools.configuration.interval
        if self.due <= self.loop.now { self.due = self.loop.now + self.tools.configuration.interval }
        _ = self.loop.schedule(at: self.due, token: Alarm.collect.rawValue)
    }

    private func collect() {
        let time = self.tools.time.wall()
        let entries = self.ledger.entries(for: self.tools.collect())
        for start in stride(from: 0, to: entries.count, by: RemoteWriteWorker.batch) {
            let part = Array(entries[start..<min(start + RemoteWriteWorker.batch, entries.count)])
            guard let body = Snappy.compress(WriteRequest(samples: part, time: time).encoded) else { continue }
            self.keep(body, samples: part.count)
        }
    }

    private func keep(_ body: [UInt8], samples: Int) {
        let length = Segment.content(of: body).count
        var segment = Segment(sequence: self.nextSequence, samples: samples, length: length)
        self.nextSequence += 1
        do {
            try self.folder.write(body, of: segment)
            self.feed(.kept(segment))
        } catch {
            segment.place = .memory(body)
            self.feed(.unkept(segment, error.description))
        }
    }

    // MARK: Effects

    // Effects may lead to inputs; in a line, because a folder of damaged files must not become a deep stack.
    private func feed(_ input: WriterMachine.Input) {
        var inputs = [input]
        while let input = inputs.popLast() {
            for effect in self.machine.handle(input) {
                if let next = self.carryOut(effect) { inputs.append(next) }
            }
        }
    }

    private func carryOut(_ effect: WriterMachine.Effect) -> WriterMachine.Input? {
        switch effect {
        case .send(let segment): return self.send(segment)
        case .remove(let segment): if segment.place == .disk { self.folder.remove(segment) }
        case .rest:
            _ = self.loop.schedule(after: self.tools.configuration.rest, token: Alarm.rest.rawValue)
        case .tell(let event): self.tools.onEvent(event)
        }
        return nil
    }

    private func send(_ segment: Segment) -> WriterMachine.Input? {
        guard let body = self.body(of: segment) else { return .damaged }
        do {
            let request = try self.tools.configuration.request(with: body)
            let line = self.tools.line
            let task = self.tools.session.task(request) { _, result in line.send(.ended(SendOutcome(result))) }
            task.resume()
            return nil
        } catch {
            return .ended(.failed(RemoteWriteFailure(error.reason, explanation: error.underlying)))
        }
    }

    private func body(of segment: Segment) -> [UInt8]? {
        switch segment.place {
        case .memory(let body): body
        case .disk: self.folder.read(segment)
        }
    }
}
