internal import TidegateCore

/// An event in the form that the page shows and the journal keeps.
struct EventLine: Codable, Sendable {
    /// The colour of a line.
    enum Tone: String, Codable {
        case good, bad, wait, plain
    }

    /// What a line is about; of the lines of one outage the cause comes first in this order.
    enum Rank: Int, Codable, Comparable {
        case link, family, host, check, target, requests, other

        static func < (left: Rank, right: Rank) -> Bool { left.rawValue < right.rawValue }
    }

    private let microseconds: Int64
    let rank: Rank
    let tone: Tone
    private let partyName: String?
    /// The link, IP version or target concerned; empty for the host as a whole.
    let subject: String
    let text: String
    /// A short form of the line, shown beside its cause.
    let effect: String
    /// The task concerned, whose name precedes the text.
    let task: String?
    /// What such lines about several subjects say together, after their number; nil if they are not shown together.
    let many: String?

    var time: WallTime { WallTime(microseconds: self.microseconds) }

    /// The responsible party.
    var party: FaultParty? { self.partyName.flatMap(FaultParty.init(rawValue:)) }

    init(
        _ text: String, at time: WallTime, rank: Rank = .other, tone: Tone = .plain, party: FaultParty? = nil,
        subject: String = "", effect: String? = nil, task: TaskID? = nil, many: String? = nil
    ) {
        self.microseconds = time.microseconds
        (self.rank, self.tone, self.partyName) = (rank, tone, party?.rawValue)
        (self.subject, self.text, self.effect) = (subject, text, effect ?? text)
        self.task = task?.description
        self.many = many
    }

    /// The line of an event; `targets` has the names of the configured targets.
    init(_ event: Event, targets: [Target: String] = [:]) {
        switch event.payload {
        case .path(let path): self.init(path, at: event.time, targets: targets)
        case .diagnosis: self.init(event, rank: .host)
        case .quality(let quality):
            self.init(event, rank: .host, subject: quality.target.map { targets[$0] ?? $0.description } ?? "")
        case .uplink(let change): self.init(event, rank: .link, subject: change.uplink.interface)
        case .link(let link): self.init(event, rank: .link, subject: (link.to ?? link.from)?.name ?? "")
        case .task(let task): self.init(event, rank: .other, task: task.id)
        case .targetCheck(let check):
            let name = targets[check.target] ?? check.target.description
            let text = check.failure.map { "not reached: \($0.text)" } ?? "reached"
            self.init(
                "\(name) \(text)", at: event.time, rank: .check, tone: check.failure == nil ? .good : .bad,
                party: check.failure?.party, subject: name)
        case .probe(let probe): self.init(event, rank: .check, subject: probe.probe)
        case .connection(.stalled(let stall)): self.init(event, "\(stall.remote)", "\(Self.connections) hang")
        case .connection(.recovered(let remote)): self.init(event, "\(remote)", "\(Self.connections) go on")
        case .connection(.failed(let failure)): self.init(event, "\(failure.remote)", "\(Self.connections) failed")
        case .session(.circuitOpened(let origin, pause: _)):
            self.init(event, origin, "servers: no requests for a while after repeated failures")
        case .daemon(.runSkipped(let task)):
            self.init(event, task, "tasks: a run was skipped because the previous one was still active")
        case .netlink, .session, .connection, .incident, .daemon: self.init(event, rank: .other)
        }
    }

    private static let connections = "remotes: connections of other programs"

    /// An event that comes often, about a subject.
    private init(_ event: Event, _ subject: String, _ many: String) {
        self.init(
            event.sentence, at: event.time, tone: event.payload.tone, party: event.payload.party, subject: subject,
            effect: subject, many: many)
    }

    private init(_ event: Event, rank: Rank, subject: String = "", task: TaskID? = nil) {
        self.init(
            event.sentence, at: event.time, rank: rank, tone: event.payload.tone, party: event.payload.party,
            subject: subject, task: task)
    }

    private init(_ path: PathEvent, at time: WallTime, targets: [Target: String]) {
        let level = path.to.level
        let (rank, subject): (Rank, String) =
            switch path.scope {
            case .global: (.host, "")
            case .family(let family): (.family, family.name)
            case .target(let target): (.target, targets[target] ?? target.description)
            }
        let effect = "\(subject.isEmpty ? "host" : subject): \(level.word)"
        self.init(
            path.sentence(naming: subject), at: time, rank: rank, tone: level.tone,
            party: level.tone == .bad || level.tone == .wait ? path.to.reason?.party : nil, subject: subject,
            effect: effect)
    }
}

extension ReachabilityLevel {
    /// The tone of the level.
    ///
    /// A route in the kernel's tables is not a measurement of health.
    var tone: EventLine.Tone {
        switch self {
        case .none, .local: .bad
        case .limited, .portal: .wait
        case .online: .good
        case .routed, .unknown: .plain
        }
    }
}

extension Event.Payload {
    fileprivate var tone: EventLine.Tone {
        switch self {
        case .netlink(.lost), .daemon(.configurationLoaded(false)), .daemon(.journal(.failed)),
            .daemon(.remoteWrite(.failed)), .daemon(.remoteWrite(.dropped)), .connection(.stalled),
            .connection(.failed), .connection(.groupSilent):
            .bad
        case .diagnosis(let diagnosis): diagnosis.isBroken ? .bad : diagnosis.state == .checking ? .wait : .good
        case .quality(let quality): quality.kind == .ended(.recovered) ? .good : .wait
        case .uplink(let change): change.isTrouble ? .bad : change.uplink.state == .works ? .good : .plain
        case .link(let link): link.to?.isUsable ?? false ? .good : .bad
        case .netlink(.overrun), .session(.circuitOpened), .daemon(.runSkipped): .wait
        case .session(.circuitClosed), .daemon(.remoteWrite(.delivered)), .connection(.recovered): .good
        case .probe(let probe):
            if case .finished(let outcome) = probe.kind {
                [.success: .good, .failure: .bad][outcome.result] ?? .plain
            } else {
                .plain
            }
        case .task(let task):
            switch task.kind {
            case .attemptFailed, .moveFailed: .bad
            case .restarted: .wait
            case .completed(let result): result.outcome.tone
            default: .plain
            }
        default: .plain
        }
    }

    fileprivate var party: FaultParty? {
        switch self {
        case .uplink(let change): change.isTrouble ? change.uplink.party : nil
        case .link(let link): link.to?.isUsable ?? false ? nil : .mine
        case .task(let task):
            switch task.kind {
            case .attemptFailed(_, _, let attribution, isCharged: _): attribution?.party ?? .unknown
            case .completed(let result): result.outcome == .failure ? result.attribution?.party : nil
            default: nil
            }
        case .diagnosis(let diagnosis): diagnosis.isBroken ? diagnosis.explanation.party : nil
        case .quality(let quality): quality.kind == .degraded ? quality.trouble.party : nil
        case .daemon(.remoteWrite(.failed(let failure, isNews: _))): failure.party
        case .probe(let probe):
            if case .finished(let outcome) = probe.kind { outcome.failure?.party } else { nil }
        case .connection(.stalled(let stall)): stall.party
        case .connection(.failed(let failure)): failure.party
        default: nil
        }
    }
}

extension TaskOutcome {
    var tone: EventLine.Tone {
        switch self {
        case .success: .good
        case .failure: .bad
        case .cancelled: .plain
        }
    }
}
