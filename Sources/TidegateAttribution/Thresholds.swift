package import TidegateCore

/// Every age, count and time-out that decides whose failure something was.
package enum Thresholds {
    // MARK: How long evidence counts

    /// How long a result counts as evidence, and a silent attempt may be revised.
    ///
    /// A result of an attempt to another host, an answer of a gateway, a request that succeeded, a diagnosis of the host.
    package static let evidenceAge = Duration.seconds(30)
    /// How long the kernel takes a neighbour that was confirmed for reachable, at most (RFC 4861, 6.3.2).
    package static let reachableTime = Duration.seconds(45)
    /// How long the answer of another program's remote counts: an older one says nothing of a silence that is a second
    /// old.
    package static let answerAge = Duration.milliseconds(1_500)
    /// How long a diagnosis of the host explains the failures of other targets.
    package static let diagnosisReuse = Duration.seconds(2)
    /// How long a finding about a target explains further failures of the same kind.
    package static let findingAge = Duration.seconds(15)
    /// How long verdicts and names take to settle after a change of path.
    package static let settleTime = Duration.seconds(2)

    // MARK: What remotes have in common

    /// What one failure silences goes silent within so long, as each remote had sent something.
    package static let simultaneity = Duration.seconds(10)
    /// A silence begins with the last answer, which another remote may have got so much later.
    package static let simultaneityTolerance = Duration.seconds(1)
    /// So many remotes that reset connections within ``resetWindow`` are not on their own.
    package static let manyResets = 3
    /// Within what time resets count as simultaneous.
    package static let resetWindow = Duration.seconds(1)

    // MARK: How long a diagnosis waits

    /// How long a diagnosis waits for an answer before it asks others.
    package static let patience = Duration.milliseconds(300)
    /// How long silence lasts before the others' word is taken: the kernel has repeated a SYN (tcp(7)) and a request for a
    /// link-layer address (arp(7)) by then, so that it is no lost packet.
    package static let certainty = Duration.milliseconds(1_500)
    /// How long a resolver has for its answer; its question has been sent eight times by then.
    package static let nameQuery = Duration.milliseconds(2_500)
    /// How long it has once another one has answered, or once walks show that the way out is dead.
    ///
    /// This is longer than ``certainty``, and its question has been sent six times by then.
    package static let nameQueryBesideOthers = Duration.milliseconds(1_700)
    /// How long a server that accepts connections has for a TLS handshake: three round trips over a satellite, or one
    /// packet that was lost and repeated.
    package static let handshake = Duration.seconds(2)
    /// How long a host that is not there takes to be reported by its last router: 3 s (RFC 1812, 3.3.2, and Linux).
    package static let resolution = Duration.milliseconds(3_400)
    /// How long a diagnosis of the host may take.
    package static let hostDiagnosis = Duration.seconds(5)
    /// How long a diagnosis of a target may take, by the time-out of its check.
    ///
    /// Resolvers need ``nameQuery`` of it.
    package static let targetDiagnosis = Duration.seconds(3)...Duration.seconds(5)

    /// What is left of ``certainty`` for a silence that began at `start`.
    ///
    /// A timer of another thread may end a few milliseconds early, and a conclusion needs the whole time.
    package static func untilCertain(since start: MonotonicTime, at now: MonotonicTime) -> Duration {
        max(.milliseconds(1), self.certainty + .milliseconds(20) - (now - start))
    }

    // MARK: What is worth a finding

    /// A first byte that takes longer than people wait without asking why.
    package static let slowFirstByte = Duration.seconds(3)
    /// A resolver's answer that takes longer is noticed with every new name.
    package static let slowName = Duration.seconds(1)
    /// So few days before a certificate's end renewal has failed: Let's Encrypt renews 30 days before.
    package static let certificateDays = 14
}
