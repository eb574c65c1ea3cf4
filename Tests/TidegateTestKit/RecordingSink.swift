internal import Synchronization
package import TidegateCore

/// Records every event of a bus.
package final class RecordingSink: EventSink {
    private let recorded = Mutex<[Event]>([])

    /// A sink without events.
    package init() {}

    /// Records an event.
    package func receive(_ event: Event) {
        self.recorded.withLock { $0.append(event) }
    }

    /// The events so far.
    package var events: [Event] { self.recorded.withLock { $0 } }

    /// The task events so far, of all tasks or of one.
    package func taskChanges(of id: TaskID? = nil) -> [TaskEvent.Kind] {
        self.events.compactMap { event in
            guard case .task(let task) = event.payload, id == nil || task.id == id else { return nil }
            return task.kind
        }
    }
}
