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
    private var finished: [Finished] = []

    init(bus: EventBus, subscribers: SessionEvents) {
        self.bus = bus
        self.subscribers = subscribers
    }

    /// Publishes events; the session's own subscribers get those of tasks.
    func publish(_ events: [Event.Payload]) {
        if self.subscribers.isOpen {
            self.subscribers.publish(
                contentsOf: events.filter { if case .task = $0 { true } else { false } })
        }
        self.bus.publish(contentsOf: events)
    }

    /// The task's last event is pending: its result is there for all who wait once that is published.
    func finish(_ task: TransferTask, _ result: TaskResult, resumeData: ResumeData?) {
        self.finished.append(Finished(task: task, result: result, resumeData: resumeData))
    }

    /// The tasks' last events are published: who waits for their results gets them.
    func finishTasks() {
        guard !self.finished.isEmpty else { return }
        for end in self.finished { end.task.finish(end.result, resumeData: end.resumeData) }
        self.finished.removeAll(keepingCapacity: self.finished.count <= 1024)
    }
}
