internal import TidegateCore

/// An event as one line of the page.
struct EventDescriptions {
    /// How the line is coloured.
    enum Tone: String {
        case good, bad, wait, plain
    }

    let text: String
    let tone: Tone
    /// Whose failure it was.
    var party: FaultParty?

    init(_ text: String, _ tone: Tone, party: FaultParty? = nil) {
        self.text = text
        self.tone = tone
        self.party = party
    }

    /// True for events that people want to see; the rest is on the stream.
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

    /// The line; `name` knows tasks by their ids.
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
        let reason = path.to.reason.map { ", \($0.words)" } ?? ""
        let way = path.to.path.map { " by \($0.words)" } ?? ""
        let level = subject.isEmpty ? path.to.level.headline : path.to.level.rawValue
        self.init(subject + level + reason + way, path.to.level.tone)
    }

    private init(_ event: LinkEvent) {
        switch (event.from, event.to) {
        case (let from?, nil): self.init("\(from.name) is gone", .bad)
        case (let from, let to?):
            let what = from == nil ? "appeared, " : ""
            let reason = to.reason?.words ?? "not for other hosts"
            self.init("\(to.name): \(what)\(to.isUsable ? "usable" : reason)", to.isUsable ? .good : .bad)
        case (nil, nil): self.init("a link changed", .plain)
        }
    }

    private init(_ event: NetlinkEvent) {
        switch event {
        case .overrun: self.init("the kernel dropped messages; everything is read again", .wait)
        case .lost(let error): self.init("the kernel cannot be heard: \(error)", .bad)
        case .modeChanged(let mode): self.init("watching by \(mode.words)", .plain)
        case .received, .resynced, .dumpInterrupted, .malformed, .lookedUp, .receiveBuffer:
            self.init("messages from the kernel", .plain)
        }
    }

    private init(_ event: SessionEvent) {
        switch event {
        case .epochBegan: self.init("new connections from here on: the network changed", .plain)
        case .circuitOpened(let origin, let pause):
            self.init("\(origin) failed too often; left alone for \(pause.words)", .wait)
        case .circuitClosed(let origin): self.init("\(origin) answers again", .good)
        case .invalidated: self.init("no more requests are made", .plain)
        }
    }

    private init(_ event: DaemonEvent) {
        switch event {
        case .configurationLoaded(true): self.init("configuration read", .plain)
        case .configurationLoaded(false): self.init("the configuration is bad; the old one stays", .bad)
        case .turnSkipped(let task): self.init("\(task): turn skipped, the last run is not over", .wait)
        case .journal(.opened(let unfinished)): self.init("journal opened, \(unfinished) unfinished tasks", .plain)
        case .journal(.failed(let trouble, _)): self.init("the journal cannot be written: \(trouble.label)", .bad)
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
        case .delivered: self.init("samples are taken by their receiver again", .good)
        case .failed(let failure, _):
            self.init(
                "samples cannot be sent: \(failure.explanation ?? failure.reason.words)", .bad, party: failure.party)
        case .dropped(let loss, let samples, _, _, _): self.init("\(samples) samples lost: \(loss.words)", .bad)
        }
    }
}

extension EventDescriptions {
    fileprivate init(_ event: TaskEvent, redaction: URLRedaction, name: String) {
        switch event.kind {
        case .attemptFailed(let summary, let failure, let attribution, _):
            let evidence = attribution?.evidence.first.map { ": \($0)" } ?? ""
            self.init(
                "\(name): attempt \(summary.number), \(failure.words)\(evidence)", .bad,
                party: attribution?.party ?? .unknown)
        case .completed(let result): self.init(result, redaction: redaction)
        case .restarted(let discarded):
            self.init("\(name): started again, \(TransferProgress.size(discarded)) thrown away", .wait)
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
            let what = "\(TransferProgress.size(result.bytes)) in \(result.duration.words)"
            self.init("\(name): done, \(what)", .good)
        case .failure:
            let why = result.explanation ?? result.failure?.words ?? "failed"
            self.init("\(name): gave up, \(why)", .bad, party: result.attribution?.party)
        case .cancelled: self.init("\(name): cancelled", .plain)
        }
    }
}
