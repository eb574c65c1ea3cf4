internal import TidegateCore

/// A target in the table.
struct TargetEntry {
    /// What the last check found.
    enum Found: Hashable {
        case reached
        case failed(UnreachableReason)
    }

    let target: Target
    /// The target's place among the configured ones, which are part of the status and of events; nil for the others,
    /// which exist for their watches.
    let number: Int?
    /// What the last check found; nil while the target has not been checked since there is a path to it.
    var found: Found?
    var watches: [UInt64: TargetTable.Handler] = [:]
    var debouncer = VerdictDebouncer()
    var addresses: [AddressVerdict] = []
    /// The level of the family in use, as the watches were last given it.
    var internetLevel = ReachabilityLevel.unknown
    /// The lookups for this target, as a range of ``TargetTable/questions()``; empty while its name has no address.
    var questions: Range<Int> = 0..<0

    /// The verdict that gates go by, without the level of the family.
    // Made of parts, because thousands change together: a copy of the whole entry costs more than its lookup.
    var gating: TargetVerdict {
        TargetVerdict(
            target: self.target, verdict: self.debouncer.gating.verdict ?? .unknown, addresses: self.addresses)
    }

    var isConfigured: Bool { self.number != nil }

    /// The verdict to publish: only a check of the target itself takes it beyond `routed`.
    func published(_ verdict: Verdict) -> Verdict {
        guard verdict.level == .routed, let found = self.found else { return verdict }
        var verdict = verdict
        switch found {
        case .reached: verdict.level = .online
        case .failed(let reason): (verdict.level, verdict.reason) = (.limited, reason)
        }
        return verdict
    }

    /// True if gates are open to other hosts, which only a link can lead to.
    var needsLink: Bool {
        guard let level = self.debouncer.gating.verdict?.level, level >= .routed, !self.addresses.isEmpty else {
            return false
        }
        return self.addresses.allSatisfy { !$0.verdict.notes.contains(.thisHost) && !$0.address.isLinkLocal }
    }
}
