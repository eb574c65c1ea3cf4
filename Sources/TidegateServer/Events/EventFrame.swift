internal import TidegateCore

/// Server-Sent Events as text (HTML Living Standard 9.2): JSON on one line never contains a line end.
enum EventFrame {
    /// A comment: clients ignore it, and proxies see that the connection is alive.
    static let heartbeat = ": heartbeat\n\n"

    /// An event; without an ID, clients that reconnect do not refer to it.
    static func text(_ event: Event, id: String?, redaction: URLRedaction) -> String {
        self.text(id: id, name: event.name, data: event.json(redaction: redaction))
    }

    static func text(id: String?, name: String, data: JSONValue) -> String {
        (id.map { "id: \($0)\n" } ?? "") + "event: \(name)\ndata: \(data)\n\n"
    }

    /// The newest progress of each task.
    static func progress(_ events: [Event], redaction: URLRedaction) -> String {
        var newest: [TaskID: Event] = [:]
        for event in events {
            if case .task(let task) = event.payload { newest[task.id] = event }
        }
        return newest.values.sorted { $0.sequence < $1.sequence }
            .map { self.text($0, id: nil, redaction: redaction) }.joined()
    }
}

/// The state that a stream begins with, or begins again with.
struct EventSnapshot {
    /// Why it is sent.
    enum Reason: String {
        /// The client sent no `Last-Event-ID`.
        case snapshot
        /// The event of the `Last-Event-ID` is unknown, or the client missed events.
        case reset
    }

    let reason: Reason
    let view: any MonitorView
    let time: WallTime
    var dropped: UInt64 = 0

    /// Further tasks are only counted.
    static let taskLimit = 256

    func text(id: String?) -> String { EventFrame.text(id: id, name: self.reason.rawValue, data: self.json) }

    private var json: JSONValue {
        let sample = self.view.taskSample(atMost: EventSnapshot.taskLimit)
        return .object(
            [
                .init("schema", 1), .init("event", .string(self.reason.rawValue)),
                .init("time", .string(self.time.description)),
                .init("dropped", .integer(Int64(clamping: self.dropped))),
            ] + self.view.status.documentMembers + [
                .init("tasks", .array(sample.tasks.map(\.json))),
                .init("tasksLeftOut", .integer(Int64(sample.total - sample.tasks.count))),
            ])
    }
}
