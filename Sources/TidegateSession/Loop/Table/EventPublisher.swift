internal import TidegateCore

/// Publishes the events of a session's tasks, those of one turn of the thread together, and the tasks' ends after them.
final class EventPublisher {
    private struct Finished {
        let task: TransferTask
        let result: TaskResult
        let resumeData: ResumeData?
    }

    private let bus: EventBus
    private let subscribers: SessionEvents
    private var pending: [Event.Payload] = []
    private var finished: [Finished] = []

    init(bus: EventBus, subscribers: SessionEvents) {
        self.bus = bus
        self.subscribers = subscribers
    }

    func publish(_ change: consuming TaskEvent.Kind, of task: TransferTask) {
        task.handlers?.span?.record(copy change)
        self.pending.append(.task(TaskEvent(id: task.id, taskKind: task.request.kind, trace: task.trace, kind: change)))
    }

    /// Publishes at once, after everything that is pending.
    func publish(_ event: SessionEvent) {
        self.flush()
        self.bus.publish(.session(event))
    }

    /// The task's last event is pending: its result is there for all who wait once that is published.
    func finish(_ task: TransferTask, _ result: TaskResult, resumeData: ResumeData?) {
        self.finished.append(Finished(task: task, result: result, resumeData: resumeData))
    }

    /// Publishes what is pending; before code of an app's runs, which may block, and at the end of each turn.
    func flush() {
        if !self.pending.isEmpty {
            if self.subscribers.isOpen { self.subscribers.publish(contentsOf: self.pending) }
            self.bus.publish(contentsOf: self.pending)
            self.pending.removeAll(keepingCapacity: self.pending.count <= 4096)
        }
        guard !self.finished.isEmpty else { return }
        for end in self.finished { end.task.finish(end.result, resumeData: end.resumeData) }
        self.finished.removeAll(keepingCapacity: self.finished.count <= 1024)
    }
}
