package import TidegateCore

/// The remotes behind one next hop: together they show whether they or the path to them fails.
package struct RemoteGroup: Sendable, Hashable {
    /// One remote.
    package struct Member: Sendable, Hashable {
        package var address: IPAddress
        /// When it last answered; nil if never.
        package var answered: MonotonicTime?
        /// Since when connections to it hang; nil if none hangs.
        package var stalledSince: MonotonicTime?
        /// Whether all that hang are still being opened, and their packets leave this host.
        package var isOpening = false
        /// When it last accepted or refused a connection; nil if it never did.
        package var opened: MonotonicTime?

        package init(_ address: IPAddress) { self.address = address }
    }

    /// What the group shows.
    package enum Finding: Sendable, Hashable {
        /// No remote hangs.
        case fine
        /// Some hang while others answer; the value holds the conclusion for each remote.
        case some([IPAddress: RemotesEvidence])
        /// Several hang and none answers: the path to them fails.
        case silent(count: Int)
        /// One hangs, and nothing else is known.
        case alone(IPAddress)

        /// The conclusion for one remote.
        package func evidence(of remote: IPAddress) -> RemotesEvidence {
            switch self {
            case .some(let remotes): remotes[remote] ?? .answering
            case .silent: .silent
            case .alone: .undecided
            // Only a closed receive window is left.
            case .fine: .answering
            }
        }
    }

    /// Concludes from the remotes behind one next hop what fails.
    package static func finding(_ members: [Member], at now: MonotonicTime) -> Finding {
        let stalled = members.filter { $0.stalledSince != nil }
        guard let latest = stalled.compactMap(\.stalledSince).max() else { return .fine }
        let answering = members.filter { member in
            member.stalledSince == nil && member.answered.map { now - $0 < Thresholds.answerAge } ?? false
        }
        guard answering.isEmpty else {
            if let evidence = self.openings(stalled, beside: answering, among: members, at: now) {
                return .some(Dictionary(stalled.map { ($0.address, evidence) }) { first, _ in first })
            }
            return .some(self.evidence(of: stalled, beside: answering))
        }
        // A remote that has been silent for long says nothing about the current failure.
        let together = stalled.filter { $0.stalledSince.map { latest - $0 < Thresholds.simultaneity } ?? false }
        let first = together.compactMap(\.stalledSince).min() ?? latest
        let hasAnyAnswered = members.contains { member in
            // Data from a remote whose connections hang does not count as an answer.
            let answered = [member.answered, member.stalledSince].compactMap(\.self).min()
            return member.answered != nil && answered.map { $0 > first + Thresholds.simultaneityTolerance } ?? false
        }
        if together.count >= 2, !hasAnyAnswered { return .silent(count: stalled.count) }
        guard stalled.count == 1, let only = stalled.first else {
            return .some(Dictionary(stalled.map { ($0.address, .undecided) }) { $1 })
        }
        return .alone(only.address)
    }

    // A router with a full connection table, for example; remotes that never answered may just be dead. Nil if the
    // connections that hang do not show that.
    private static func openings(
        _ stalled: [Member], beside answering: [Member], among members: [Member], at now: MonotonicTime
    ) -> RemotesEvidence? {
        let starts = stalled.compactMap(\.stalledSince)
        guard stalled.allSatisfy(\.isOpening), let first = starts.min(), let last = starts.max(),
            last - first < Thresholds.simultaneity,
            Set(stalled.filter { $0.answered != nil }.map { Network($0.address) }).count > 1,
            members.allSatisfy({ $0.opened.map { $0 < first + Thresholds.openingTolerance } ?? true }),
            answering.contains(where: { $0.answered.map { $0 > first } ?? false })
        else { return nil }
        // Until then an opened connection may not have been seen.
        return now - first >= Thresholds.openingTolerance * 2 ? .opensNone : .undecided
    }

    // If several remotes of one network hang and nothing there answers, the path to that network is the likelier cause.
    private static func evidence(of stalled: [Member], beside answering: [Member]) -> [IPAddress: RemotesEvidence] {
        let networks = Dictionary(grouping: stalled) { Network($0.address) }
        let answers = Set(answering.map { Network($0.address) })
        var evidence: [IPAddress: RemotesEvidence] = [:]
        for (network, members) in networks {
            let isNetworkSilent = members.count >= 2 && !answers.contains(network)
            for member in members {
                // An answer from before the silence proves nothing.
                let isAnyYounger = answering.contains {
                    ($0.answered ?? .init(nanoseconds: 0)) > (member.stalledSince ?? .init(nanoseconds: 0))
                }
                evidence[member.address] =
                    !isAnyYounger ? .undecided : isNetworkSilent ? .silentNetwork : .answering
            }
        }
        return evidence
    }

    /// The covering /24 or /48 of an address.
    private struct Network: Hashable {
        private let high: UInt64
        private let low: UInt64
        private let family: AddressFamily

        init(_ address: IPAddress) {
            let (high, low) = address.bits
            self.family = address.family
            (self.high, self.low) = address.family == .ipv4 ? (0, low >> 8) : (high >> 16, 0)
        }
    }
}
