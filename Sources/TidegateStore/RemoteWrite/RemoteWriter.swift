package import TidegateCore
internal import TidegateLoop
package import TidegateMetrics
internal import TidegateSession

/// Sends samples to a receiver of Prometheus remote write 1.0, through tasks that wait for their path.
///
/// Samples are on disk before they are sent, so that neither an outage nor the end of the process loses them. One
/// request is in progress at a time, with the oldest samples first.
///
/// The writer has its own session and bus: otherwise its requests would fill the users' task lists, history and
/// counters, and samples about sending samples would never end. Results are reported as ``RemoteWriteEvent``.
package final class RemoteWriter: Sendable {
    private let session: Session
    private let thread: LoopThread<RemoteWriteWorker>

    /// Starts to collect and send samples.
    ///
    /// `paths` opens and shuts the gate. `collect` returns the current samples, and `onEvent` receives the results,
    /// both on the writer's thread. The writer's sockets are registered in `own`.
    /// - Throws: ``TaskError`` if the configuration is invalid, or if no thread can be started.
    package init(
        _ configuration: RemoteWriteConfiguration, paths: any PathSource, resolver: any NameResolver,
        time: any TimeSource, own: OwnSockets? = nil, collect: @escaping @Sendable () -> [MetricSample],
        onEvent: @escaping @Sendable (RemoteWriteEvent) -> Void = { _ in }
    ) throws(TaskError) {
        // Reports an invalid URL now rather than with the first samples.
        _ = try TaskRequest(url: configuration.url)
        let bus = EventBus(time: time)
        do {
            let session = try Session(
                configuration.session(), bus: bus, paths: paths, resolver: resolver, time: time,
                generator: SystemRandomNumberGenerator(), journal: nil, hooks: nil, observer: nil, own: own,
                diagnosis: { _ in nil })
            self.session = session
            self.thread = try LoopThread(name: "tg-remote") {
                RemoteWriteWorker(
                    loop: $0, session: session, configuration: configuration, time: time, samples: collect,
                    onEvent: onEvent)
            }
        } catch let error as TaskError {
            throw error
        } catch {
            throw TaskError(reason: .internal, underlying: "remote write could not start: \(error)")
        }
        // Weak, because the thread keeps the session, and the session keeps its bus and its tasks' completions.
        let reply: @Sendable (RemoteWriteWorker.Command) -> Void = { [weak thread = self.thread] in thread?.send($0) }
        bus.attach(SendFailureObserver(reply: reply))
        self.thread.send(.start(reply: reply))
    }

    deinit { self.thread.stop() }

    /// Collects and stores samples a last time, then ends; undelivered samples are sent after the next start.
    package func stop() async {
        await withCheckedContinuation { continuation in
            if !self.thread.send(.stop { continuation.resume() }) { continuation.resume() }
        }
        await self.session.invalidate(cancellingTasks: true)
        self.thread.stop()
    }
}

/// Reports every failed attempt, because a request that is retried for hours has no result in the meantime.
private struct SendFailureObserver: EventSink {
    let reply: @Sendable (RemoteWriteWorker.Command) -> Void

    func receive(_ event: Event) {
        guard case .task(let task) = event.payload,
            case .attemptFailed(let summary, let failure, let attribution, isCharged: _) = task.kind
        else { return }
        self.reply(.attemptFailed(RemoteWriteFailure(failure, status: summary.status, party: attribution?.party)))
    }
}

/// Collects, stores and sends samples on the writer's thread, which may wait for the disk.
final class RemoteWriteWorker: LoopHandler {
    enum Command: Sendable {
        /// Provides the way back to this thread, for completions called on other threads.
        case start(reply: @Sendable (Command) -> Void)
        case attemptFailed(RemoteWriteFailure)
        case finished(SendOutcome)
        /// Collects and stores samples a last time, and sends nothing more.
        case stop(completion: @Sendable () -> Void)
    }

    private enum Timer: UInt64 { case collection, pause }

    /// The body of one request, and its number of samples.
    private typealias Body = (bytes: [UInt8], samples: Int)

    /// The maximum number of samples per request; receivers limit its size.
    private static let maxSamplesPerBody = 2000

    private let loop: Loop
    private let configuration: RemoteWriteConfiguration
    private let session: Session
    private let onEvent: @Sendable (RemoteWriteEvent) -> Void
    private let file: SampleQueueFile
    private let time: any TimeSource
    private let samples: @Sendable () -> [MetricSample]
    private var tracker: StaleSeriesTracker
    private var machine: RemoteWriteMachine
    private var reply: @Sendable (Command) -> Void = { _ in }
    private var nextSequence: Int64 = 1
    private var nextCollection: MonotonicTime
    private var isStopping = false

    init(
        loop: Loop, session: Session, configuration: RemoteWriteConfiguration, time: any TimeSource,
        samples: @escaping @Sendable () -> [MetricSample], onEvent: @escaping @Sendable (RemoteWriteEvent) -> Void
    ) {
        self.loop = loop
        self.configuration = configuration
        self.session = session
        self.onEvent = onEvent
        self.file = SampleQueueFile(directory: configuration.directory)
        self.time = time
        self.samples = samples
        self.tracker = StaleSeriesTracker(external: configuration.labels)
        self.machine = RemoteWriteMachine(bound: configuration.bound)
        self.nextCollection = loop.now
    }

    func receive(_ command: Command) {
        switch command {
        case .start(let reply):
            self.reply = reply
            self.start()
        case .attemptFailed(let failure): self.feed(.attemptFailed(failure))
        case .finished(let outcome): self.feed(.finished(outcome))
        case .stop(let completion):
            self.collect()
            self.isStopping = true
            self.feed(.stop)
            completion()
        }
    }

    func timerFired(_ token: UInt64) {
        switch Timer(rawValue: token) {
        case .collection:
            // The session may take a while to stop, and samples collected during that time would not be reported.
            guard !self.isStopping else { return }
            self.collect()
            self.scheduleCollection()
        case .pause: self.feed(.pauseEnded)
        case nil: break
        }
    }

    private func start() {
        // If the file cannot be opened, the first batch reports why.
        if (try? self.openFile()) == nil { self.feed(.found([])) }
        // Immediately, so that the receiver sees the first value of each counter.
        self.collect()
        self.scheduleCollection()
    }

    private func openFile() throws(TextError) {
        guard !self.file.isOpen else { return }
        let contents = try self.file.open()
        self.nextSequence = max(self.nextSequence, (contents.batches.last?.sequence ?? 0) + 1)
        if let discarded = contents.discarded {
            self.feed(.discarded(samples: discarded.samples, detail: discarded.detail))
        }
        self.feed(.found(contents.batches))
    }

    // MARK: Samples

    // At regular times; those missed while the machine slept are skipped.
    private func scheduleCollection() {
        let interval = self.configuration.interval
        self.nextCollection = self.nextCollection + interval
        if self.nextCollection <= self.loop.now { self.nextCollection = self.loop.now + interval }
        _ = self.loop.schedule(at: self.nextCollection, token: Timer.collection.rawValue)
    }

    private func collect() {
        let time = self.time.wall()
        let entries = self.tracker.entries(for: self.samples())
        for start in stride(from: 0, to: entries.count, by: Self.maxSamplesPerBody) {
            let samples = Array(entries[start...].prefix(Self.maxSamplesPerBody))
            guard let body = Snappy.compress(WriteRequest(samples: samples, time: time).encoded) else { continue }
            self.store((body, samples.count))
        }
    }

    private func store(_ body: Body) {
        do {
            try self.openFile()
            let batch = self.makeBatch(body, location: .file)
            try self.file.insert(body.bytes, as: batch)
            self.feed(.stored(batch))
        } catch {
            self.feed(.notStored(self.makeBatch(body, location: .memory(body.bytes)), error.description))
        }
    }

    private func makeBatch(_ body: Body, location: SampleBatch.Location) -> SampleBatch {
        defer { self.nextSequence += 1 }
        return SampleBatch(
            sequence: self.nextSequence, samples: body.samples, length: body.bytes.count, location: location)
    }

    // MARK: Effects

    // An effect may cause another input. A loop replaces recursion, because a whole queue may be damaged.
    private func feed(_ input: RemoteWriteMachine.Input) {
        var inputs = [input]
        while let input = inputs.popLast() {
            for effect in self.machine.handle(input) {
                if let next = self.carryOut(effect) { inputs.append(next) }
            }
        }
    }

    private func carryOut(_ effect: RemoteWriteMachine.Effect) -> RemoteWriteMachine.Input? {
        switch effect {
        case .send(let batch): return self.send(batch)
        case .remove(let batch): if batch.location == .file { self.file.remove(batch) }
        case .pause:
            _ = self.loop.schedule(after: self.configuration.pause, token: Timer.pause.rawValue)
        case .report(let event): self.onEvent(event)
        }
        return nil
    }

    private func send(_ batch: SampleBatch) -> RemoteWriteMachine.Input? {
        guard let body = self.body(of: batch) else { return .damaged }
        do {
            let request = try self.configuration.request(with: body)
            let reply = self.reply
            let task = self.session.makeTask(request) { _, result in reply(.finished(SendOutcome(result)))
            }
            task.resume()
            return nil
        } catch {
            return .finished(.failed(RemoteWriteFailure(error.reason, explanation: error.underlying)))
        }
    }

    private func body(of batch: SampleBatch) -> [UInt8]? {
        switch batch.location {
        case .memory(let body): body
        case .file: self.file.body(of: batch)
        }
    }
}
