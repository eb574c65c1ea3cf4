internal import TidegateCore

/// A target in the table.
struct TargetEntry {
    let target: Target
    /// Configured targets are part of the status and of events; the others exist for their watches.
    var isConfigured: Bool
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

    /// True if gates are open to other hosts, which only a link can lead to.
    var needsLink: Bool {
        guard let level = self.debouncer.gating.verdict?.level, level >= .routed, !self.addresses.isEmpty else {
            return false
        }
        return self.addresses.allSatisfy { !$0.verdict.notes.contains(.thisHost) && !$0.address.isLinkLocal }
    }
}
