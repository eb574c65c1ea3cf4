/// Why there is no path, as clauses that name the link at fault: `eth0 has no carrier`.
package enum VerdictDescriptions {
    /// The clause for a verdict below routed, about the link at fault; nil if nothing is wrong.
    package static func phrase(_ verdict: Verdict, among links: [Link]) -> String? {
        guard verdict.level < .routed, let reason = verdict.reason else { return nil }
        return reason.description(ofLink: self.culprit(reason, among: links)?.name)
    }

    /// What the families lack, each fault once: `default route missing (v4), no address (v6)`.
    package static func faults(in status: ReachabilityStatus, of families: [AddressFamily]) -> String {
        var faults: [(phrase: String, families: [AddressFamily])] = []
        for entry in status.families where families.contains(entry.family) {
            guard let phrase = self.fault(entry.verdict, among: status.links) else { continue }
            if let position = faults.firstIndex(where: { $0.phrase == phrase }) {
                faults[position].families.append(entry.family)
            } else {
                faults.append((phrase, [entry.family]))
            }
        }
        let isShared = faults.count == 1 && faults[0].families.count == families.count && families.count > 1
        return faults.map { fault in
            isShared ? fault.phrase : "\(fault.phrase) (\(fault.families.map(self.short).joined(separator: ", ")))"
        }.joined(separator: ", ")
    }

    private static func fault(_ verdict: Verdict, among links: [Link]) -> String? {
        verdict.reason == .noRoute && verdict.level < .routed
            ? "default route missing" : self.phrase(verdict, among: links)
    }

    /// The family in two characters: `v4` or `v6`.
    package static func short(_ family: AddressFamily) -> String { family == .ipv4 ? "v4" : "v6" }

    /// The link that a reason is about; one that the configuration excludes comes last.
    package static func culprit(_ reason: UnreachableReason, among links: [Link]) -> Link? {
        let candidates = links.filter { $0.reason == reason && $0.kind != .loopback }
        return candidates.first { !$0.isExcluded } ?? candidates.first
    }
}
