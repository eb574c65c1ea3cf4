internal import Synchronization
public import TidegateCore

/// Remembers every event of a bus, for tests to read back.
public final class RecordingSink: EventSink {
    private let recorded = Mutex<[Event]>([])

    /// A sink that has heard nothing yet.
    public init() {}

    /// Remembers an event.
    public func receive(_ event: Event) {
        self.recorded.withLock { $0.append(event) }
    }

    /// Everything heard so far.
    public var events: [Event] { self.recorded.withLock { $0 } }

    /// The changes of tasks heard so far, or of one task.
    public func taskChanges(of id: TaskID? = nil) -> [TaskEvent.Kind] {
        self.events.compactMap { event in
            guard case .task(let task) = event.payload, id == nil || task.id == id else { return nil }
            return task.kind
        }
    }
}
