package import TidegateCore

/// The remotes behind one next hop: together they say whether it is them or the way there.
package struct RemoteGroup: Sendable, Hashable {
    /// One remote.
    package struct Member: Sendable, Hashable {
        package var address: IPAddress
        /// When it answered last; nil if it never did.
        package var answered: MonotonicTime?
        /// Since when connections to it hang; nil if none does.
        package var stalledSince: MonotonicTime?

        package init(_ address: IPAddress) { self.address = address }
    }

    /// What the group says.
    package enum Finding: Sendable, Hashable {
        /// No remote hangs.
        case fine
        /// Some hang while others answer: what that says of each remote.
        case some([IPAddress: RemotesEvidence])
        /// Several hang, and none answers: it is the way there.
        case silent(count: Int)
        /// One hangs, and nothing else is known.
        case alone(IPAddress)

        /// What it says of one remote.
        package func evidence(of remote: IPAddress) -> RemotesEvidence {
            switch self {
            case .some(let remotes): remotes[remote] ?? .answering
            case .silent: .silent
            case .alone: .undecided
            // Only a closed window is left.
            case .fine: .answering
            }
        }
    }

    /// The remotes behind one next hop say what fails.
    package static func finding(_ members: [Member], at now: MonotonicTime) -> Finding {
        let stalled = members.filter { $0.stalledSince != nil }
        guard let latest = stalled.compactMap(\.stalledSince).max() else { return .fine }
        let answering = members.filter { member in
            member.stalledSince == nil && member.answered.map { now - $0 < Thresholds.answerAge } ?? false
        }
        guard answering.isEmpty else { return .some(self.evidence(of: stalled, beside: answering)) }
        // A remote that has been silent for long says nothing of what failed now.
        let together = stalled.filter { $0.stalledSince.map { latest - $0 < Thresholds.simultaneity } ?? false }
        let first = together.compactMap(\.stalledSince).min() ?? latest
        let hasAnyAnswered = members.contains { member in
            // What a remote to which connections hang sends nevertheless is no answer.
            let answered = [member.answered, member.stalledSince].compactMap(\.self).min()
            return member.answered != nil && answered.map { $0 > first + Thresholds.simultaneityTolerance } ?? false
        }
        if together.count >= 2, !hasAnyAnswered { return .silent(count: stalled.count) }
        guard stalled.count == 1, let only = stalled.first else {
            return .some(Dictionary(stalled.map { ($0.address, .undecided) }) { $1 })
        }
        return .alone(only.address)
    }

    // Several that hang in one network where nothing answers: more likely the way to that network than each of them.
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
