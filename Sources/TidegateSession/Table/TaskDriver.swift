internal import TidegateCore
internal import TidegateTransfer

/// Carries out what a task's machine decides and the driver itself cannot.
protocol TaskEffectHandler: AnyObject {
    func carryOut(_ effect: TaskMachine.Effect, _ record: TaskRecord)
}

/// Feeds the tasks' machines, publishes what they report, and keeps clocks and shared state up to date.
final class TaskDriver {
    let publisher: EventPublisher
    let timers: TaskTimers
    private let engine: TransferEngine
    /// What follows from one input.
    private var effects: [TaskMachine.Effect] = []
    /// What is to be carried out, in order.
    private var queue: [(TaskRecord, TaskMachine.Effect)] = []
    private var touched: [TaskRecord] = []
    /// What the session's loop keeps beside the driver; nil only while both are being made.
    unowned var handler: (any TaskEffectHandler)?

    init(engine: TransferEngine, publisher: EventPublisher, timers: TaskTimers) {
        self.engine = engine
        self.publisher = publisher
        self.timers = timers
    }

    /// The moment at which the current batch began.
    var now: MonotonicTime { self.engine.now }

    /// Gives a task's machine an input; what follows from it is carried out by ``drain()``.
    func feed(_ input: TaskMachine.Input, to record: TaskRecord) {
        record.machine.handle(input, at: self.now, &self.effects)
        for effect in self.effects { self.queue.append((record, effect)) }
        self.effects.removeAll(keepingCapacity: true)
        self.touch(record)
    }

    /// Carries out what followed from the inputs so far, in order, and then shows what has changed.
    func drain() {
        var next = 0
        while next < self.queue.count {
            let (record, effect) = self.queue[next]
            next += 1
            if case .report(let report) = effect {
                self.publishReport(report, record)
            } else {
                self.handler?.carryOut(effect, record)
            }
        }
        self.queue.removeAll(keepingCapacity: next <= 4096)
        for record in self.touched {
            record.isTouched = false
            self.settle(record)
        }
        self.touched.removeAll(keepingCapacity: self.touched.count <= 4096)
    }

    /// The task's clocks and shared state follow when everything has been carried out.
    func touch(_ record: TaskRecord) {
        guard !record.isTouched else { return }
        record.isTouched = true
        self.touched.append(record)
    }

    private func publishReport(_ report: TaskMachine.Report, _ record: TaskRecord) {
        switch report {
        case .resumed: self.publish(.resumed, record)
        case .suspended(let reason): self.publish(.suspended(reason), record)
        case .held(let reason, let detail): self.publish(.held(reason, detail: detail), record)
        case .released(let reason, let after): self.publish(.released(reason, after: after), record)
        case .attemptStarted(let number): self.publish(.attemptStarted(number: number), record)
        }
    }

    func publish(_ change: consuming TaskEvent.Kind, _ record: TaskRecord) {
        self.publisher.publish(change, of: record.task)
    }

    private func settle(_ record: TaskRecord) {
        guard !record.machine.isOver else { return }
        record.clocks.follow(record.clockInputs, at: self.now)
        self.timers.update(record, at: self.now)
        let (state, progress) = (record.machine.state, record.progress)
        let (held, lastByte) = (record.machine.heldReasons, record.live?.progress.lastActivity)
        let (head, url, started) = (record.live?.head, record.finalURL, record.result.started)
        let stall = record.live?.path.stall
        // What the shared state shows has been published.
        self.publisher.flush()
        record.task.shared.update { shared in
            shared.snapshot.state = state
            shared.snapshot.progress = progress
            shared.snapshot.started = started
            shared.snapshot.stall = stall
            shared.held = held
            shared.lastByte = lastByte
            if let head { shared.response = (head, url, false) }
        }
    }

    /// Writes the shared progress alone.
    ///
    /// Bytes only put the task's clocks off: nothing else has changed, and a timer that fires too early looks again.
    func showProgress(_ record: TaskRecord) {
        let (progress, lastByte) = (record.progress, record.live?.progress.lastActivity)
        record.task.shared.update { shared in
            shared.snapshot.progress = progress
            shared.lastByte = lastByte
        }
    }

    func schedule(_ clock: TaskClocks.Clock, of record: TaskRecord, after delay: Duration) {
        record.clocks.schedule(clock, at: self.now + delay)
    }
}
