internal import TidegateCore
internal import TidegateLoop

/// Takes evidence from observers on any thread; it keeps neither the monitor nor its bus.
package struct EvidenceRecorder: Sendable {
    let inbox: Inbox<ReachabilityEngine.Command>?
    let store: ReachabilityStore
    let evidence: PassiveEvidence

    /// Records evidence; called for each request of a busy program.
    package func record(_ evidence: TrafficEvidence) {
        switch evidence {
        // The netlink thread does not wake up for each of these.
        case .success(let request): return self.evidence.record(request)
        case .doubt(let family): return self.evidence.doubt(family)
        case .failure(let moment): if !self.evidence.isNewFailure(at: moment) { return }
        case .answer: if self.store.read({ $0.diagnosis?.isBroken != true }) { return }
        case .silence, .silenceOf, .attempt, .unclear: break
        }
        _ = self.inbox?.put { $0.record(evidence) }
    }
}
