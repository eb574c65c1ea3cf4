internal import TidegateCore
internal import TidegateReachability

/// Translates what tasks, probes and observed connections report into evidence about this host's ways out.
struct EvidenceObserver: EventSink {
    let record: @Sendable (TrafficEvidence) -> Void

    func receive(_ event: Event) {
        switch event.payload {
        case .task(let task): self.receive(task, at: event.moment)
        case .probe(let probe):
            if case .finished(let outcome) = probe.kind { self.receive(outcome, at: event.moment) }
        // Everything behind a gateway is silent, or connections to one remote hang and no other remote answers.
        case .connection(.groupSilent): self.record(.silence(since: event.moment))
        case .connection(.stalled(let stall)):
            self.record(
                .silenceOf(stall.party, of: stall.remote.address, since: event.moment - stall.age))
        case .connection(.recovered): self.record(.answer)
        case .path, .targetCheck, .diagnosis, .quality, .uplink, .connection(.failed), .connection(.modeChanged),
            .connection(.dropped), .link, .netlink, .session, .incident, .daemon:
            break
        }
    }

    private func receive(_ task: TaskEvent, at now: MonotonicTime) {
        switch task.kind {
        case .attemptSucceeded(let summary):
            guard let source = summary.local, let remote = summary.remote else { return }
            self.record(
                .success(
                    .init(
                        from: source, to: remote, isEncrypted: summary.phases.tls != nil,
                        connect: summary.phases.connect, start: now - summary.duration, end: now)))
        case .attemptFailed(let summary, _, let attribution, isCharged: _):
            self.record(.failure(now))
            guard let attribution, let doubt = attribution.doubt else { return }
            if doubt.silent != nil { self.record(.doubt(summary.remote?.family)) }
            self.record(
                .attempt(
                    OpenAttempts.Attempt(
                        task: task.id, number: summary.number, party: attribution.party, doubt: doubt,
                        remote: summary.remote, start: now - summary.duration, moment: now)))
        default: break
        }
    }

    private func receive(_ outcome: ProbeEvent.Outcome, at now: MonotonicTime) {
        let start = now - outcome.duration
        guard let failure = outcome.failure else {
            if outcome.result == .success, let connection = outcome.connection {
                self.record(
                    .success(
                        .init(
                            from: connection.local, to: connection.remote, isEncrypted: connection.isEncrypted,
                            connect: connection.connect, start: start, end: now)))
            }
            return self.record(.answer)
        }
        // A failure that the kernel reports needs no diagnosis.
        guard !outcome.isGated else { return }
        // A permanent failure is not news.
        let isOpen = outcome.isNews || outcome.result == .inconclusive
        // The target did not answer, and may not be responsible.
        if failure.reason == "timed_out", failure.party != .theirs {
            self.record(.failure(now))
            if isOpen { self.record(.doubt(outcome.family)) }
        }
        if outcome.isNews {
            self.record(.silenceOf(failure.party, of: outcome.connection?.remote, since: start))
        } else if isOpen {
            self.record(.unclear)
        }
    }
}
