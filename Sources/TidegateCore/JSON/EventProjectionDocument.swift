extension Event {
    /// The object that `GET /api/v1/events` sends for the event; nil for an event about nothing.
    ///
    /// Every object begins with `schema`, `event`, `seq` and `time`; verdicts, links and tasks are told as `watch --json`
    /// and `tasks watch --json` tell them. `redaction` applies to every URL.
    public func json(redaction: URLRedaction = URLRedaction()) -> JSONValue? {
        switch self.payload {
        case .path(let path): path.json(sequence: self.sequence, time: self.time)
        case .link(let link): link.json(sequence: self.sequence, time: self.time)
        case .task(let task): task.json(sequence: self.sequence, time: self.time, redaction: redaction)
        case .netlink(let netlink): self.object(netlink.members)
        case .session(let session): self.object(session.members(redaction))
        case .daemon(let daemon): self.object(daemon.members)
        }
    }

    private func object(_ members: [JSONValue.Member]) -> JSONValue {
        .object(
            [
                .init("schema", 1), .init("event", .string(self.payload.name)),
                .init("seq", .integer(Int64(clamping: self.sequence))), .init("time", .string(self.time.description)),
            ] + members)
    }
}

extension Event.Payload {
    /// Topic and what happened: `path.changed`, `task.completed`, `session.poolReplaced`.
    public var name: String {
        switch self {
        case .path: "path.changed"
        case .link: "link.changed"
        case .netlink(let event): "netlink.\(event.name)"
        case .task(let event): "task.\(event.kind.name)"
        case .session(let event): "session.\(event.name)"
        case .daemon(let event): "daemon.\(event.name)"
        }
    }
}

extension TaskEvent {
    // A result holds its URL as it was given, so it is told only here, where it passes the redaction.
    fileprivate func json(sequence: UInt64, time: WallTime, redaction: URLRedaction) -> JSONValue {
        switch self.kind {
        case .created(let method, let url):
            let shown = Kind.created(method: method, url: redaction.text(of: url))
            return TaskEvent(id: self.id, taskKind: self.taskKind, kind: shown).json(sequence: sequence, time: time)
        case .completed(let result):
            guard case .object(let members) = self.json(sequence: sequence, time: time) else { return .null }
            return .object(
                members + [
                    .init("name", .optional(result.name)), .init("method", .string(result.method)),
                    .init("url", .string(redaction.text(of: result.url))),
                    .init("durationSeconds", .seconds(result.duration)),
                ])
        case .resumed, .suspended, .held, .released, .gate, .attemptStarted, .responseHead, .progress, .attemptFailed,
            .attemptSucceeded, .retryScheduled, .retriesExhausted, .restarted, .refetched, .moved, .moveFailed:
            return self.json(sequence: sequence, time: time)
        }
    }
}

// MARK: - The kernel

extension NetlinkEvent {
    fileprivate var name: String {
        switch self {
        case .received: "received"
        case .overrun: "overrun"
        case .resynced: "resynced"
        case .dumpInterrupted: "dumpInterrupted"
        case .malformed: "malformed"
        case .lookedUp: "lookedUp"
        case .modeChanged: "modeChanged"
        case .receiveBuffer: "receiveBuffer"
        case .lost: "lost"
        }
    }

    fileprivate var members: [JSONValue.Member] {
        switch self {
        case .received(let type, let count):
            [.init("type", .string(type.rawValue)), .init("count", .integer(Int64(count)))]
        case .overrun, .dumpInterrupted: []
        case .resynced(let reason, let duration):
            [.init("reason", .string(reason.rawValue)), .init("durationSeconds", .seconds(duration))]
        case .malformed(let count), .lookedUp(let count): [.init("count", .integer(Int64(count)))]
        case .modeChanged(let mode): [.init("mode", .string(mode.rawValue))]
        case .receiveBuffer(let bytes): [.init("bytes", .integer(Int64(bytes)))]
        case .lost(let text): [.init("error", .string(text))]
        }
    }
}

// MARK: - The process

extension SessionEvent {
    fileprivate var name: String {
        switch self {
        case .poolReplaced: "epochBegan"
        case .circuitOpened: "circuitOpened"
        case .circuitClosed: "circuitClosed"
        case .invalidated: "invalidated"
        }
    }

    fileprivate func members(_ redaction: URLRedaction) -> [JSONValue.Member] {
        switch self {
        case .poolReplaced(let number): [.init("epoch", .integer(Int64(number)))]
        case .circuitOpened(let origin, let pause):
            [.init("origin", .string(redaction.text(of: origin))), .init("pauseSeconds", .seconds(pause))]
        case .circuitClosed(let origin): [.init("origin", .string(redaction.text(of: origin)))]
        case .invalidated: []
        }
    }
}

extension DaemonEvent {
    fileprivate var name: String {
        switch self {
        case .configurationLoaded: "configurationLoaded"
        case .requestAnswered: "requestAnswered"
        case .turnSkipped: "turnSkipped"
        case .journal(.opened): "journalOpened"
        case .journal(.committed): "journalCommitted"
        case .journal(.failed): "journalFailed"
        case .remoteWrite(let event): event.name
        case .stopping: "stopping"
        }
    }

    fileprivate var members: [JSONValue.Member] {
        switch self {
        case .configurationLoaded(let isGood): [.init("good", .bool(isGood))]
        case .requestAnswered(let handler, let status):
            [.init("handler", .string(handler)), .init("status", .integer(Int64(status)))]
        case .turnSkipped(let task): [.init("name", .string(task))]
        case .journal(.opened(let unfinished)): [.init("unfinished", .integer(Int64(unfinished)))]
        case .journal(.committed(let entries, let duration)):
            [.init("entries", .integer(Int64(entries))), .init("durationSeconds", .seconds(duration))]
        case .journal(.failed(let trouble, let entries)):
            [.init("reason", .string(trouble.rawValue)), .init("entries", .integer(Int64(entries)))]
        case .remoteWrite(let event): event.members
        case .stopping: []
        }
    }
}
