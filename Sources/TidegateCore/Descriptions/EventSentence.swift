extension Event.Payload {
    /// What happened, as a clause for people; a task's event leaves out which task it was.
    package var sentence: String {
        switch self {
        case .path(let path): path.sentence
        case .targetCheck(let check): check.sentence
        case .link(let link): link.sentence
        case .netlink(let netlink): netlink.sentence
        case .task(let task): task.kind.sentence
        case .session(let session): session.sentence
        case .probe(let probe): probe.sentence
        case .connection(let connection): connection.sentence
        case .daemon(let daemon): daemon.sentence
        }
    }
}

extension PathEvent {
    fileprivate var sentence: String {
        let level =
            switch self.scope {
            case .global: self.to.level.headline
            case .family(let family): "\(family.name): \(self.to.level.rawValue)"
            case .target(let target): "\(target): \(self.to.level.rawValue)"
            }
        let details = [self.to.reason?.description, self.to.path.map { "by \($0)" }].compactMap(\.self)
        return ([level] + details).joined(separator: ", ")
    }
}

extension TargetCheckEvent {
    fileprivate var sentence: String {
        guard let failure = self.failure else { return "\(self.target): reached" }
        return "\(self.target): not reached, \(failure.text) (\(failure.party))"
    }
}

extension LinkEvent {
    fileprivate var sentence: String {
        guard let link = self.to else { return self.from.map { "\($0.name) is gone" } ?? "a link changed" }
        let state =
            link.isUsable
            ? "\(link.name) is usable"
            : link.reason?.description(ofLink: link.name) ?? "\(link.name) leads to no other host"
        return self.from == nil ? "\(link.name) appeared: \(state)" : state
    }
}

extension NetlinkEvent {
    fileprivate var sentence: String {
        switch self {
        case .received(let type, let count): "\(count) netlink messages of type \(type.rawValue)"
        case .overrun: "the kernel dropped messages; everything is read again"
        case .resynced: "everything was read from the kernel again"
        case .dumpInterrupted: "the kernel interrupted a dump; it is repeated"
        case .malformed(let count): "\(count) malformed netlink messages"
        case .lookedUp(let count): "\(count) route lookups"
        case .modeChanged(let mode): "watching by \(mode)"
        case .receiveBuffer(let bytes): "the netlink receive buffer has \(ByteText(Int64(bytes)))"
        case .lost(let error): "\(UnreachableReason.monitorDown): \(error)"
        }
    }
}

extension SessionEvent {
    /// What has happened, in one clause.
    package var sentence: String {
        switch self {
        case .poolReplaced: "new connections from here on: the network changed"
        case .circuitOpened(let origin, let pause):
            "too many requests to \(origin) failed; none for \(DurationText(pause))"
        case .circuitClosed(let origin): "\(origin) answers again"
        case .attributionRevised(task: _, let attempt, from: _, let to):
            "attempt \(attempt) failed by what is now known: \(to)"
        case .restoredTasksEnded(1): "the task that was left from an earlier run has ended"
        case .restoredTasksEnded(let count): "all \(count) tasks that were left from an earlier run have ended"
        case .storedResponseDropped(let file, let problem): "\(file) \(problem); the response is requested again"
        case .reset: "cookies, stored responses and connections were given up"
        case .invalidated: "no more requests are made"
        }
    }
}

extension DaemonEvent {
    fileprivate var sentence: String {
        switch self {
        case .configurationLoaded(true): "configuration loaded"
        case .configurationLoaded(false): "the configuration is invalid; the old one stays"
        case .requestAnswered(let handler, let status): "answered a request for \(handler) with \(status)"
        case .runSkipped(let task): "\(task): run skipped, the last one is not over"
        case .journal(.opened(let unfinished)): "journal opened, \(unfinished) unfinished tasks"
        case .journal(.committed(let entries, duration: _)): "\(entries) journal entries written"
        case .journal(.failed(let issue, entries: _)): "the journal cannot be written: \(issue)"
        case .remoteWrite(let event): event.sentence
        case .stopping: "stopping"
        }
    }
}

extension RemoteWriteEvent {
    fileprivate var sentence: String {
        switch self {
        case .opened(let samples, pending: _): "remote write started; samples of an earlier run: \(samples)"
        case .kept(let samples, pending: _): "samples kept: \(samples)"
        case .delivered(_, pending: _, let isNews): isNews ? "samples are delivered again" : "samples delivered"
        case .failed(let failure, isNews: _):
            "samples cannot be sent: \(failure.explanation ?? failure.reason.description)"
        case .dropped(let loss, let samples, detail: _, pending: _, isNews: _): "\(samples) samples lost: \(loss)"
        }
    }
}
