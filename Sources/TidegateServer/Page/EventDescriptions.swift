internal import TidegateCore

/// An event as one line of the page.
struct EventDescriptions {
    /// The colour of the line.
    enum Tone: String {
        case good, bad, wait, plain
    }

    let text: String
    let tone: Tone
    /// The party at fault; nil if the event is no failure.
    var party: FaultParty?

    init(_ text: String, _ tone: Tone, party: FaultParty? = nil) {
        self.text = text
        self.tone = tone
        self.party = party
    }

    /// True for the events on the page; the others are on the event stream only.
    static func isWorthShowing(_ event: Event) -> Bool {
        switch event.payload {
        case .path(let path): !(path.from.level == .unknown && path.scope != .global)
        case .link, .session: true
        case .netlink(.overrun), .netlink(.lost), .netlink(.modeChanged): true
        case .netlink: false
        case .task(let task): self.isWorthShowing(task.kind)
        case .daemon(.requestAnswered), .daemon(.journal(.committed)): false
        case .daemon(.remoteWrite(let push)): push.isNews
        case .daemon: true
        }
    }

    private static func isWorthShowing(_ change: TaskEvent.Kind) -> Bool {
        switch change {
        case .attemptFailed, .completed, .restarted, .moveFailed: true
        case .created, .resumed, .suspended, .held, .released, .gate, .attemptStarted, .responseHead, .progress,
            .attemptSucceeded, .retryScheduled, .retriesExhausted, .refetched, .moved:
            false
        }
    }

    /// The line of an event; `name` returns the name of a task.
    init(_ event: Event, redaction: URLRedaction, name: (TaskID) -> String) {
        switch event.payload {
        case .path(let path): self.init(path)
        case .link(let link): self.init(link)
        case .netlink(let netlink): self.init(netlink)
        case .task(let task): self.init(task, redaction: redaction, name: name(task.id))
        case .session(let session): self.init(session)
        case .daemon(let daemon): self.init(daemon)
        }
    }

    private init(_ path: PathEvent) {
        let subject: String
        switch path.scope {
        case .global: subject = ""
        case .family(let family): subject = family == .ipv4 ? "IPv4: " : "IPv6: "
        case .target(let target): subject = "\(target): "
        }
        let reason = path.to.reason.map { ", \($0.pageText)" } ?? ""
        let route = path.to.path.map { " by \($0.pageText)" } ?? ""
        let level = subject.isEmpty ? path.to.level.headline : path.to.level.rawValue
        self.init(subject + level + reason + route, path.to.level.tone)
    }

    private init(_ event: LinkEvent) {
        switch (event.from, event.to) {
        case (let from?, nil): self.init("\(from.name): removed", .bad)
        case (let from, let to?):
            let what = from == nil ? "appeared, " : ""
            let reason = to.reason?.pageText ?? "not usable for other hosts"
            self.init("\(to.name): \(what)\(to.isUsable ? "usable" : reason)", to.isUsable ? .good : .bad)
        case (nil, nil): self.init("a link changed", .plain)
        }
    }

    private init(_ event: NetlinkEvent) {
        switch event {
        case .overrun: self.init("the kernel dropped messages; the tables are read again", .wait)
        case .lost(let error): self.init("netlink unavailable: \(error)", .bad)
        case .modeChanged(let mode): self.init("updated by \(mode.pageText)", .plain)
        case .received, .resynced, .dumpInterrupted, .malformed, .lookedUp, .receiveBuffer:
            self.init("netlink messages", .plain)
        }
    }

    private init(_ event: SessionEvent) {
        switch event {
        case .poolReplaced: self.init("the network changed; new connections from now on", .plain)
        case .circuitOpened(let origin, let pause):
            self.init("\(origin) failed too often; circuit open for \(pause.shortText)", .wait)
        case .circuitClosed(let origin): self.init("\(origin) answers again", .good)
        case .invalidated: self.init("session invalidated", .plain)
        }
    }

    private init(_ event: DaemonEvent) {
        switch event {
        case .configurationLoaded(true): self.init("configuration loaded", .plain)
        case .configurationLoaded(false): self.init("invalid configuration; the old one stays in force", .bad)
        case .turnSkipped(let task): self.init("\(task): run skipped, the previous one has not ended", .wait)
        case .journal(.opened(let unfinished)): self.init("journal opened, \(unfinished) unfinished tasks", .plain)
        case .journal(.failed(let error, _)): self.init("the journal cannot be written: \(error.label)", .bad)
        case .journal(.committed), .requestAnswered: self.init("answered", .plain)
        case .remoteWrite(let push): self.init(push)
        case .stopping: self.init("stopping", .plain)
        }
    }
}

extension EventDescriptions {
    private init(_ event: RemoteWriteEvent) {
        switch event {
        case .opened(let samples, _): self.init("samples to send from an earlier run: \(samples)", .plain)
        case .kept(let samples, _): self.init("samples kept: \(samples)", .plain)
        case .delivered: self.init("remote write succeeds again", .good)
        case .failed(let failure, _):
            self.init(
                "remote write failed: \(failure.explanation ?? failure.reason.pageText)", .bad, party: failure.party)
        case .dropped(let loss, let samples, _, _, _): self.init("\(samples) samples lost: \(loss.pageText)", .bad)
        }
    }
}

extension EventDescriptions {
    fileprivate init(_ event: TaskEvent, redaction: URLRedaction, name: String) {
        switch event.kind {
        case .attemptFailed(let summary, let failure, let attribution, _):
            let evidence = attribution?.evidence.first.map { ": \($0)" } ?? ""
            self.init(
                "\(name): attempt \(summary.number), \(failure.pageText)\(evidence)", .bad,
                party: attribution?.party ?? .unknown)
        case .completed(let result): self.init(result, redaction: redaction)
        case .restarted(let discarded):
            self.init("\(name): restarted, \(TransferProgress.size(discarded)) discarded", .wait)
        case .moveFailed(let file, _): self.init("\(name): cannot be moved to \(file)", .bad)
        case .created, .resumed, .suspended, .held, .released, .gate, .attemptStarted, .responseHead, .progress,
            .attemptSucceeded, .retryScheduled, .retriesExhausted, .refetched, .moved:
            self.init("\(name): \(event.kind.name)", .plain)
        }
    }

    private init(_ result: TaskResult, redaction: URLRedaction) {
        let name = result.name ?? "\(result.method) \(redaction.text(of: result.url))"
        switch result.outcome {
        case .success:
            let what = "\(TransferProgress.size(result.bytes)) in \(result.duration.shortText)"
            self.init("\(name): done, \(what)", .good)
        case .failure:
            let why = result.explanation ?? result.failure?.pageText ?? "failed"
            self.init("\(name): gave up, \(why)", .bad, party: result.attribution?.party)
        case .cancelled: self.init("\(name): cancelled", .plain)
        }
    }
}
