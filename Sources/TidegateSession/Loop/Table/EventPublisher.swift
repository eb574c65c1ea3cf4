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
    private var finished = ReusedQueue<Finished>()

    init(bus: EventBus, subscribers: SessionEvents) {
        self.bus = bus
        self.subscribers = subscribers
    }

    /// Publishes events; the session's own subscribers get those of tasks.
    func publish(_ events: inout ReusedQueue<Event.Payload>) {
        guard self.subscribers.isOpen else { return self.bus.publish(events.count) { events.takeFirst() } }
        var own = ReusedQueue<Event.Payload>()
        self.bus.publish(events.count) {
            let event = events.takeFirst()
            if case .task? = event, let event { own.append(event) }
            return event
        }
        self.subscribers.publish(own.count) { own.takeFirst() }
    }

    /// The task's last event is pending: its result is there for all who wait once that is published.
    func finish(_ task: TransferTask, _ result: TaskResult, resumeData: ResumeData?) {
        self.finished.append(Finished(task: task, result: result, resumeData: resumeData))
    }

    /// The tasks' last events are published: who waits for their results gets them.
    func finishTasks() {
        while let end = self.finished.takeFirst() { end.task.finish(end.result, resumeData: end.resumeData) }
    }
}
