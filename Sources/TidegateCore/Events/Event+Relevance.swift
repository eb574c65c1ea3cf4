extension Event {
    /// The most selective place that shows an event.
    ///
    /// The places before it in this list show it, too: an event of `page` is also in the history, in the log and in
    /// metrics.
    package enum Relevance: Int, Sendable, Comparable {
        /// Counted by metrics, and nothing else: it comes too often.
        case metrics
        /// Logged, but not kept: answered requests would push everything else out of the history within minutes.
        case log
        /// Kept in the history, and sent to those who follow it.
        case history
        /// Shown on the status page.
        case page

        package static func < (left: Relevance, right: Relevance) -> Bool { left.rawValue < right.rawValue }
    }

    /// The most selective place that shows this event.
    package var relevance: Relevance {
        switch self.payload {
        // The first verdicts of families and targets follow from the start, not from a change.
        case .path(let path): path.from.level == .unknown && path.scope != .global ? .history : .page
        // A target's level says what follows from it; every check by itself would fill the history.
        case .targetCheck(let check): check.isNews ? .history : .metrics
        case .link, .session: .page
        case .probe(let probe): Self.relevance(of: probe.kind)
        case .connection(.dropped): .history
        case .connection: .page
        case .netlink(let netlink): Self.relevance(of: netlink)
        case .task(let task): Self.relevance(of: task.kind)
        case .daemon(.requestAnswered), .daemon(.journal(.committed)): .log
        case .daemon(.remoteWrite(let event)): event.isNews ? .page : .log
        case .daemon: .page
        }
    }

    private static func relevance(of probe: ProbeEvent.Kind) -> Relevance {
        switch probe {
        // Every run by itself would fill the history.
        case .finished(let outcome): outcome.isNews ? .page : .metrics
        case .added, .removed: .log
        case .overrun: .metrics
        }
    }

    private static func relevance(of netlink: NetlinkEvent) -> Relevance {
        switch netlink {
        case .received, .lookedUp, .receiveBuffer: .metrics
        case .resynced, .dumpInterrupted, .malformed: .history
        case .overrun, .lost, .modeChanged: .page
        }
    }

    private static func relevance(of task: TaskEvent.Kind) -> Relevance {
        switch task {
        case .progress: .metrics
        case .created, .resumed, .suspended, .held, .released, .gate, .attemptStarted, .responseHead,
            .attemptSucceeded, .retryScheduled, .retriesExhausted, .continued, .refetched, .moved:
            .history
        case .attemptFailed, .completed, .restarted, .moveFailed: .page
        }
    }
}
