/// What was measured along the path to a target.
package struct QualityEvidence: Sendable, Hashable {
    /// A host on the path, and how it answers echoes.
    package struct Host: Sendable, Hashable {
        package var segment: Segment
        package var address: IPAddress
        /// The usual round trip; nil if it is not known.
        package var normal: Duration?
        /// Echoes that left this host.
        package var sent = 0
        /// How often one or more echoes in a row were lost: one gap is one event.
        package var gaps = 0
        /// From each echo to its answer, the shortest first.
        package var roundTrips: [Duration] = [] {
            didSet { self.roundTrips.sort() }
        }

        /// A host without measurements.
        package init(_ segment: Segment, _ address: IPAddress) { (self.segment, self.address) = (segment, address) }

        package var lost: Int { self.sent - self.roundTrips.count }
        /// The share of echoes without an answer; nil before the first one.
        package var lossRatio: Double? { self.sent == 0 ? nil : Double(self.lost) / Double(self.sent) }
        /// Nil without an answer.
        package var median: Duration? { self.percentile(50) }

        /// The given percentile; nil without an answer.
        package func percentile(_ share: Int) -> Duration? {
            self.roundTrips.isEmpty ? nil : self.roundTrips[(self.roundTrips.count - 1) * share / 100]
        }

        /// The bounds of the true loss, with a probability of 95 %.
        package var lossInterval: ClosedRange<Double>? { self.interval(of: self.lost) }
        /// The bounds of the true share of gaps.
        package var gapInterval: ClosedRange<Double>? { self.interval(of: self.gaps) }

        fileprivate func adding(_ other: Host) -> Host {
            var sum = self
            (sum.sent, sum.gaps) = (self.sent + other.sent, self.gaps + other.gaps)
            sum.roundTrips += other.roundTrips
            return sum
        }

        // Wilson's interval.
        private func interval(of events: Int) -> ClosedRange<Double>? {
            guard self.sent > 0 else { return nil }
            let (z, count) = (1.96, Double(self.sent))
            let share = Double(events) / count
            let scale = 1 + z * z / count
            let middle = (share + z * z / (2 * count)) / scale
            let half = z / scale * (share * (1 - share) / count + z * z / (4 * count * count)).squareRoot()
            return max(0, middle - half)...min(1, middle + half)
        }
    }

    /// How a resolver answers.
    package struct Lookup: Sendable, Hashable {
        package var resolver: IPAddress
        /// The shortest time for a name that it knows.
        package var answer: Duration
        /// From an echo to its answer.
        package var roundTrip: Duration

        /// A lookup from its parts.
        package init(resolver: IPAddress, answer: Duration, roundTrip: Duration) {
            (self.resolver, self.answer, self.roundTrip) = (resolver, answer, roundTrip)
        }
    }

    /// The interface that leads to the target.
    package var interface: String
    /// The router, the first host beyond it that answers, and the target.
    package var hosts: [Host] = []
    /// Another destination beyond the same router; nil if none answers.
    package var reference: Host?
    /// The address that was asked; nil if only the way out was measured.
    package var target: IPAddress?
    /// Whether a measurement was asked for, however quick the target is.
    package var isAsked = false
    /// The connections that moved or held data meanwhile.
    package var flows: [Flow] = []
    /// How long each of a few connects took, or was waited for; empty if none was made.
    package var connects: [Duration] = []
    /// The phases of the request.
    package var phases = PhaseDurations()
    /// The resolver that answered first; nil if none was asked.
    package var lookup: Lookup?
    /// How late this host's own timers were: the 95th percentile.
    package var lateness = Duration.zero
    /// What this host's own side showed during the measurement.
    package var own = HostEvidence()
    /// The traffic over the interface during the measurement, in bits per second; nil if that is not known.
    package var ownTraffic: Double?

    /// How long the request took up to the first byte of its answer, the lookup of the name included.
    package var total: Duration {
        let phases = self.phases
        return [phases.resolve, phases.connect, phases.tls, phases.processing].compactMap(\.self).reduce(.zero, +)
    }

    /// No measurements yet.
    package init(interface: String) { self.interface = interface }

    /// This measurement with that of an earlier one of the same hosts.
    package func adding(_ earlier: QualityEvidence) -> QualityEvidence {
        var sum = self
        sum.lateness = max(self.lateness, earlier.lateness)
        sum.own = self.own.adding(earlier.own)
        sum.ownTraffic = [self.ownTraffic, earlier.ownTraffic].compactMap(\.self).max()
        sum.flows = earlier.flows + self.flows
        let known = earlier.hosts + [earlier.reference].compactMap(\.self)
        func added(_ host: Host) -> Host {
            known.first { $0.address == host.address }.map(host.adding) ?? host
        }
        (sum.hosts, sum.reference) = (self.hosts.map(added), self.reference.map(added))
        return sum
    }
}
