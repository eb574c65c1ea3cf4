internal import TidegateCore

/// An event as one line of the page.
struct EventLine {
    /// How a line is coloured.
    enum Tone: String {
        case good, bad, wait, plain
    }

    let text: String
    let tone: Tone
    /// Whose failure it was.
    let party: FaultParty?

    /// The line; `name` gives the names of tasks by their ids.
    init(_ event: Event, redaction: URLRedaction, name: (TaskID) -> String) {
        let sentence = event.payload.sentence
        guard case .task(let task) = event.payload else {
            (self.text, self.tone, self.party) = (sentence, event.payload.tone, event.payload.party)
            return
        }
        (self.tone, self.party) = (event.payload.tone, event.payload.party)
        guard case .completed(let result) = task.kind else {
            self.text = "\(name(task.id)): \(sentence)"
            return
        }
        // A task that has ended may no longer be in the list.
        self.text = "\(result.name ?? "\(result.method) \(redaction.text(of: result.url))"): \(sentence)"
    }
}

extension Event.Payload {
    fileprivate var tone: EventLine.Tone {
        switch self {
        case .path(let path): path.to.level.tone
        case .link(let link): link.to?.isUsable ?? false ? .good : .bad
        case .targetCheck(let check): check.failure == nil ? .good : .bad
        case .netlink(.lost): .bad
        case .netlink(.overrun): .wait
        case .netlink: .plain
        case .task(let task): task.kind.tone
        case .session(.circuitOpened): .wait
        case .session(.circuitClosed): .good
        case .session: .plain
        case .daemon(.configurationLoaded(false)), .daemon(.journal(.failed)): .bad
        case .daemon(.remoteWrite(.failed)), .daemon(.remoteWrite(.dropped)): .bad
        case .daemon(.remoteWrite(.delivered)): .good
        case .daemon(.runSkipped): .wait
        case .daemon: .plain
        }
    }

    fileprivate var party: FaultParty? {
        switch self {
        case .task(let task):
            switch task.kind {
            case .attemptFailed(_, _, let attribution, isCharged: _): attribution?.party ?? .unknown
            case .completed(let result): result.outcome == .failure ? result.attribution?.party : nil
            default: nil
            }
        case .daemon(.remoteWrite(.failed(let failure, isNews: _))): failure.party
        case .targetCheck(let check): check.failure?.party
        case .path, .link, .netlink, .session, .daemon: nil
        }
    }
}

extension TaskEvent.Kind {
    fileprivate var tone: EventLine.Tone {
        switch self {
        case .attemptFailed, .moveFailed: .bad
        case .restarted: .wait
        case .completed(let result):
            switch result.outcome {
            case .success: .good
            case .failure: .bad
            case .cancelled: .plain
            }
        case .created, .resumed, .suspended, .held, .released, .gate, .attemptStarted, .responseHead, .progress,
            .attemptSucceeded, .retryScheduled, .retriesExhausted, .refetched, .moved:
            .plain
        }
    }
}
