extension SessionEvent {
    var projection: EventProjection {
        switch self {
        case .poolReplaced(let number):
            EventProjection("session.epochBegan", .info, "network epoch began", [.both("epoch", number)])
        case .circuitOpened(let origin, let pause):
            EventProjection(
                "session.circuitOpened", .warning, "circuit opened",
                [.both("origin", .url(origin)), .json("pauseSeconds", pause), .log("seconds", pause.inSeconds)])
        case .circuitClosed(let origin):
            EventProjection("session.circuitClosed", .info, "circuit closed", [.both("origin", .url(origin))])
        case .attributionRevised(let task, let attempt, let from, let to):
            EventProjection(
                "attribution.revised", .info, "attribution revised",
                [
                    .both("task", task.description), .both("attempt", attempt), .both("from", .word(from)),
                    .both("to", .word(to)),
                ])
        case .restoredTasksEnded(let count):
            EventProjection("session.restoredTasksEnded", .info, "restored tasks ended", [.both("count", count)])
        case .storedResponseDropped(let file, let problem):
            EventProjection(
                "session.storedResponseDropped", .warning, "stored response dropped",
                [.both("file", file), .both("problem", problem)])
        case .reset: EventProjection("session.reset", .info, "session reset")
        case .invalidated: EventProjection("session.invalidated", .debug, "session invalidated")
        }
    }
}

extension DaemonEvent {
    var projection: EventProjection {
        switch self {
        case .configurationLoaded(let isGood):
            EventProjection(
                "daemon.configurationLoaded", isGood ? .info : .error,
                isGood ? "configuration loaded" : "configuration reload failed", [.json("good", isGood)])
        case .requestAnswered(let handler, let status):
            EventProjection(
                "daemon.requestAnswered", .debug, "request answered",
                [.both("handler", handler), .both("status", status)])
        case .runSkipped(let task):
            EventProjection(
                "daemon.turnSkipped", .info, "scheduled run skipped: the previous run is still active",
                [.both("name", task)])
        case .journal(let journal): journal.projection
        case .remoteWrite(let event): event.projection
        case .stopping: EventProjection("daemon.stopping", .info, "stopping")
        }
    }
}

extension JournalEvent {
    fileprivate var projection: EventProjection {
        switch self {
        case .opened(let unfinished):
            EventProjection("daemon.journalOpened", .info, "journal opened", [.both("unfinished", unfinished)])
        case .committed(let entries, let duration):
            EventProjection(
                "daemon.journalCommitted", .debug, "journal written",
                [.both("entries", entries), .json("durationSeconds", duration), .log("seconds", duration.inSeconds)])
        case .failed(let issue, let entries):
            EventProjection(
                "daemon.journalFailed", .error, "journal write failed",
                [.json("reason", issue.rawValue), .log("reason", issue.label), .both("entries", entries)])
        }
    }
}

extension RemoteWriteEvent {
    fileprivate var projection: EventProjection {
        switch self {
        case .opened(let samples, let pending):
            self.projection(
                "Opened", .info, "remote write started", [.both("samples", samples, log: "waiting")], pending: pending)
        case .kept(let samples, let pending):
            self.projection("Kept", .debug, "samples queued", [.both("samples", samples)], pending: pending)
        case .delivered(let samples, let pending, let isNews):
            self.projection(
                "Delivered", isNews ? .info : .debug, isNews ? "remote write recovered" : "samples delivered",
                [.both("samples", samples)], pending: pending)
        case .failed(let failure, let isNews):
            self.projection(
                "Failed", isNews ? .warning : .debug, "remote write failed, will retry",
                [
                    .json("reason", failure.reason.rawValue), .log("reason", failure.reason.label),
                    .both("status", failure.status), .both("party", .word(failure.party)),
                    .both("error", failure.explanation),
                ], pending: nil)
        case .dropped(let loss, let samples, let detail, let pending, let isNews):
            self.projection(
                "Dropped", isNews ? .warning : .debug, "samples dropped",
                [
                    .json("reason", loss.rawValue), .log("reason", loss.label), .both("samples", samples),
                    .both("detail", detail),
                ], pending: pending)
        }
    }

    private func projection(
        _ name: String, _ level: Event.Level, _ message: String, _ fields: [EventProjection.Field],
        pending: Int64?
    ) -> EventProjection {
        let buffer: [EventProjection.Field] =
            pending.map { [.json("pendingBytes", $0), .log("buffer", "\(ByteText($0))")] } ?? []
        return EventProjection("daemon.remoteWrite\(name)", level, message, fields + buffer)
    }
}
