internal import TidegateAttribution
package import TidegateCore

/// Watches how good this host's way out and its targets are, with an echo each ten seconds to two hosts on the way.
///
/// It asks for a thorough measurement only where single samples make something suspicious, and one at a time.
struct QualityWatch {
    typealias Moment = StandingDiagnosis.Moment

    enum Input: Sendable {
        /// A check of a target on the watched path has ended; nil if it failed.
        case checked(Target, PhaseDurations?)
        /// A request succeeded.
        case success(TrafficEvidence.Request)
        /// This host has slept.
        case resumed
        /// The hosts of the way out were asked.
        case echoed(EchoRound)
        /// Nil if it could not be measured.
        case measured(QualitySubject, QualityEvidence?)
    }

    /// A consequence of an input.
    enum Effect: Sendable {
        /// Something is slow, or is not any more.
        case publish(QualityEvent)
        /// The status is new.
        case known(QualityStatus)
        /// Each of these hosts gets an echo; without hosts they are searched first.
        case echo(NetworkPath, [QualityStatus.Host]?)
        /// Something is measured on a path with these hosts.
        case measure(QualitySubject, NetworkPath, [QualityStatus.Host])
        /// The usual figures are worth keeping.
        case keep(QualityNormals)
    }

    /// From one echo to the next.
    private static let interval = Duration.seconds(10)
    /// The usual figures are kept each ten minutes.
    private static let keepingInterval = Duration.seconds(600)
    private(set) var machine: QualityMachine
    /// The watched path; nil while the way out does not work.
    private var path: NetworkPath?
    private var next: MonotonicTime
    private var kept: MonotonicTime
    /// The path whose hosts are known, and the rounds since they were looked for.
    private var known: (path: NetworkPath.Identity, rounds: Int)?
    /// Until when the worker has to answer, and whether what it finds holds; nil while it has nothing to do.
    private var pending: (deadline: MonotonicTime, isValid: Bool)?
    /// The worker's answer that came while a silence was checked.
    private var held: Input?
    private var segments: (sent: UInt64, repeated: UInt64)?
    private var lateConnects: [TrafficEvidence.Request] = []

    init(normals: QualityNormals, at now: MonotonicTime) {
        self.machine = QualityMachine(normals: normals)
        (self.next, self.kept) = (now + Self.interval, now)
    }

    /// When ``handle(_:over:isChecking:at:)`` is due without an input; while the worker is busy, when it is given up.
    var deadline: MonotonicTime { self.pending?.deadline ?? self.next }

    /// Changes the state; the effects are to be run in order.
    ///
    /// `path` is the way out, nil while it does not work. While a silence is being checked nothing is asked.
    mutating func handle(
        _ input: Input?, over path: NetworkPath?, isChecking: Bool, at now: Moment
    ) -> [Effect] {
        let before = self.machine.status
        var events: [QualityEvent] = []
        if path != self.path { events += self.move(to: path, at: now) }
        switch self.settled(input, isChecking: isChecking) {
        case .checked(let target, let phases)?: events += self.machine.handle(.checked(target, phases), at: now)
        case .success(let request)?: if self.isLate(request) { events += self.machine.handle(.lateConnects, at: now) }
        case .resumed?: self.forget()
        case .echoed(let echoes)?: events += self.add(echoes, at: now)
        case .measured(let subject, let evidence)?:
            guard let pending = self.workerEnded(at: now) else { return [] }
            events += self.machine.handle(.measured(subject, pending.isValid ? evidence : nil), at: now)
            // The echo that has to confirm it comes soon.
            if self.machine.isUnconfirmed { self.next = now.monotonic + .seconds(2) }
        case nil: if let pending, pending.deadline <= now.monotonic { (self.pending, self.held) = (nil, nil) }
        }
        // Clients never see a status that contradicts an event.
        let news = self.machine.status == before ? [] : [Effect.known(self.machine.status)]
        return news + events.map { .publish($0) } + self.ask(isChecking: isChecking, at: now)
    }

    // An answer waits for the diagnosis of a silence, and holds if the way out is found to work.
    private mutating func settled(_ input: Input?, isChecking: Bool) -> Input? {
        switch input {
        case .echoed? where isChecking, .measured? where isChecking:
            if self.pending != nil { self.held = input }
            return nil
        case nil where !isChecking: return self.held.take()
        default: return input
        }
    }

    private mutating func move(to path: NetworkPath?, at now: Moment) -> [QualityEvent] {
        if path?.identity != self.path?.identity { self.forget() }
        self.path = path
        self.pending?.isValid = false
        return self.machine.handle(.path(path), at: now)
    }

    private mutating func forget() {
        (self.known, self.segments, self.lateConnects) = (nil, nil, [])
        self.pending?.isValid = false
    }

    // A round that was due while the worker was busy is not late.
    private mutating func workerEnded(at now: Moment) -> (deadline: MonotonicTime, isValid: Bool)? {
        self.next = max(self.next, now.monotonic)
        return self.pending.take()
    }

    private mutating func add(_ echoes: EchoRound, at now: Moment) -> [QualityEvent] {
        guard let pending = self.workerEnded(at: now), pending.isValid, let path else { return [] }
        var events: [QualityEvent] = []
        if let found = echoes.found {
            self.known = (path.identity, 0)
            events += self.machine.handle(.hosts(found.hosts, router: found.router), at: now)
        }
        let before = self.segments ?? echoes.segments
        self.segments = echoes.segments
        events += self.machine.handle(
            .segments(
                sent: echoes.segments.sent &- before.sent, repeated: echoes.segments.repeated &- before.repeated),
            at: now)
        events += self.machine.handle(.echoes(echoes.trips), at: now)
        return echoes.own.map { events + self.machine.handle(.own($0), at: now) } ?? events
    }

    /// Whether another remote had a late connect as well in the last half minute: a single server may be slow to accept.
    private mutating func isLate(_ request: TrafficEvidence.Request) -> Bool {
        guard request.connect ?? .zero >= Thresholds.repeatedPacket, request.source == self.path?.source?.withoutZone
        else { return false }
        self.lateConnects.removeAll {
            $0.remote == request.remote || request.end - $0.start > Thresholds.sampleAge
        }
        if self.lateConnects.count == 8 { self.lateConnects.removeFirst() }
        self.lateConnects.append(request)
        return self.lateConnects.count > 1
    }

    // Sends nothing where traffic may cost money, while a silence is being checked, or after this process woke late.
    private mutating func ask(isChecking: Bool, at now: Moment) -> [Effect] {
        guard self.pending == nil else { return [] }
        let (planned, isRound) = (self.next, self.next <= now.monotonic)
        if isRound { self.next = now.monotonic + Self.interval }
        var effects: [Effect] = []
        if isRound, now.monotonic - self.kept >= Self.keepingInterval {
            self.kept = now.monotonic
            effects.append(.keep(self.machine.normals))
        }
        guard let path, !path.metered.isCostly, !isChecking,
            !isRound || now.monotonic - planned <= Thresholds.lateTimer
        else { return effects }
        if isRound {
            effects.append(.echo(path, self.needsSearch(on: path) ? nil : self.machine.status.hosts))
        } else if let subject = self.machine.due(at: now.monotonic) {
            effects.append(.measure(subject, path, self.machine.status.hosts))
        } else {
            return effects
        }
        self.pending = (now.monotonic + HostHealth.limit, true)
        return effects
    }

    // Other hosts may answer after ten minutes, or a missing one after one. On a lossy path a search would lose hosts.
    private mutating func needsSearch(on path: NetworkPath) -> Bool {
        guard let known, known.path == path.identity else { return true }
        self.known?.rounds += 1
        let interval = self.machine.status.hosts.count < 2 ? 6 : 60
        return (known.rounds + 1) % interval == 0 && self.machine.status.network == nil
    }
}

/// The results of one round of echoes.
package struct EchoRound: Sendable {
    /// The hosts, if they were searched, and the router's link-layer address if it is known.
    var found: (hosts: [QualityStatus.Host], router: String?)?
    /// One round trip to each host, in order; nil for a lost echo.
    var trips: [Duration?] = []
    /// This host's side of the way out; nil if it could not be read.
    var own: HostEvidence?
    /// The TCP segments of all programs so far.
    var segments: (sent: UInt64, repeated: UInt64) = (0, 0)
}

/// The start of a watch of the quality, and the receivers of its figures.
package struct QualityRecord: Sendable {
    /// The usual figures of before.
    package var normals: QualityNormals
    /// Takes each round trip to a host on the way out.
    package var record: @Sendable (Segment, Duration) -> Void
    /// Keeps the usual figures: each ten minutes, and when the watch stops.
    package var keep: @Sendable (QualityNormals) -> Void

    /// A record from its parts.
    package init(
        normals: QualityNormals = QualityNormals(), record: @escaping @Sendable (Segment, Duration) -> Void,
        keep: @escaping @Sendable (QualityNormals) -> Void
    ) {
        (self.normals, self.record, self.keep) = (normals, record, keep)
    }
}
