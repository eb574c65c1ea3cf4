internal import TidegateAttribution
internal import TidegateCore

/// Keeps what is known of this host's way out beyond the kernel: checks of the internet, and diagnoses.
final class WayOut {
    /// Checks the internet; nil if that is not configured.
    let internet: InternetCheck?
    private var health: HostHealth
    private let diagnoser: (any HostDiagnoser)?
    private let record: QualityRecord?
    private let publisher: VerdictPublisher
    private let send: @Sendable (@escaping ReachabilityEngine.Command) -> Void
    private var effects: [HostHealth.Effect] = []
    /// The calls that wait for the end of a diagnosis.
    private var waiting: [(WayOut) -> Void] = []
    private var worker: Task<Void, Never>?
    private var explanations: [Target: Task<Void, Never>] = [:]
    private var measurement: Task<Void, Never>?
    private var uplinks: Task<Void, Never>?

    init(_ dependencies: ReachabilityEngine.Dependencies, publisher: VerdictPublisher) {
        self.internet = InternetCheck(dependencies)
        self.diagnoser = dependencies.diagnoser
        self.record = dependencies.quality
        self.health = HostHealth(
            isWatching: dependencies.diagnosesHost && self.diagnoser != nil,
            quality: dependencies.quality.map {
                QualityWatch(normals: $0.normals, at: publisher.time.monotonic())
            },
            uplinks: dependencies.asksUplinks ? UplinkWatch(at: publisher.time.monotonic()) : nil)
        self.publisher = publisher
        self.send = dependencies.send
    }

    /// The families over which nothing works although they have a route.
    var failing: [AddressFamily: UnreachableReason] { self.health.failing }

    /// The cause while a captive portal answers for every server beyond the gateway; nil otherwise.
    var portal: Cause? {
        let cause = self.health.latest.flatMap { $0.isBroken ? $0.explanation.cause : nil }
        return if case .provider(.portal)? = cause { cause } else { nil }
    }

    /// When ``HostHealth/Input/timer`` is due, on the bus's clock; nil if it is not.
    var deadline: MonotonicTime? { self.health.deadline }

    /// Records an input; its effects wait for ``nextEffect()``.
    func handle(_ input: HostHealth.Input) {
        if case .explained(let target, _) = input { self.explanations[target] = nil }
        let time = self.publisher.time
        self.effects += self.health.handle(input, at: .init(monotonic: time.monotonic(), wall: time.wall()))
    }

    /// Runs the effects up to the next one that concerns other parts of the engine, and returns that one.
    func nextEffect() -> HostHealth.Effect? {
        while !self.effects.isEmpty {
            let effect = self.effects.removeFirst()
            switch effect {
            case .failing, .internetAnswers: return effect
            case .known:
                let (diagnosis, proof) = (self.health.latest, self.health.proof)
                self.publisher.store.write { ($0.diagnosis, $0.proof) = (diagnosis, proof) }
            case .revised(let revision):
                self.publisher.bus.publish(
                    .session(
                        .attributionRevised(
                            task: revision.task, attempt: revision.attempt, from: revision.from, to: revision.to)))
            case .publish(let diagnosis): self.publisher.bus.publish(.diagnosis(diagnosis))
            case .ended: self.release()
            case .diagnose(let round, let isSilent): self.diagnose(round, isSilent)
            case .explain(let target): self.explain(target)
            case .quality(let effect): self.run(effect)
            case .uplinks(let effect): self.run(effect)
            }
        }
        return nil
    }

    /// Calls back when a diagnosis has ended, immediately if nothing can be diagnosed.
    func diagnose(_ call: @escaping (WayOut) -> Void) {
        guard self.diagnoser != nil else { return call(self) }
        self.waiting.append(call)
        self.handle(.asked)
    }

    /// Calls back with the cause of an address's silence; see ``HostHealth/outage(at:over:at:)``.
    func outage(
        at address: IPAddress?, over path: NetworkPath?, _ call: @escaping @Sendable (Cause?) -> Void
    ) {
        let answer = { (host: WayOut) in
            call(host.health.outage(at: address, over: path, at: host.publisher.time.monotonic()))
        }
        if self.health.isCurrent(at: self.publisher.time.monotonic()) { answer(self) } else { self.diagnose(answer) }
    }

    /// Ends a running diagnosis, and calls back those that wait for it.
    func stop() {
        self.worker?.cancel()
        self.measurement?.cancel()
        self.uplinks?.cancel()
        if let quality = self.health.quality { self.record?.keep(quality.machine.normals) }
        for explanation in self.explanations.values { explanation.cancel() }
        self.release()
    }

    private func release() {
        let calls = self.waiting
        self.waiting = []
        for call in calls { call(self) }
    }

    private func diagnose(_ round: Int, _ isSilent: Bool) {
        self.worker = Task { [diagnoser, send] in
            let found = await diagnoser?.diagnoseHost(within: Thresholds.hostDiagnosis, isSilent: isSilent)
            if let found { send { $0.wayOut.handle(.diagnosed(round: round, found)) } }
        }
    }

    private func run(_ effect: QualityWatch.Effect) {
        switch effect {
        case .publish(let event): self.publisher.bus.publish(.quality(event))
        case .known(let status): self.publisher.store.write { $0.status.quality = status }
        case .keep(let normals): self.record?.keep(normals)
        case .echo(let path, let hosts):
            self.measurement = Task { [diagnoser, send, record] in
                guard let echoes = await diagnoser?.echoes(to: hosts, on: path) else { return }
                for case (let host, let trip?) in zip(hosts ?? echoes.found?.hosts ?? [], echoes.trips) {
                    record?.record(host.segment, trip)
                }
                send { $0.wayOut.handle(.quality(.echoed(echoes))) }
            }
        case .measure(let subject, let path, let hosts):
            self.measurement = Task { [diagnoser, send] in
                let evidence = await diagnoser?.measure(subject, on: path, hosts)
                send { $0.wayOut.handle(.quality(.measured(subject, evidence))) }
            }
        }
    }

    private func run(_ effect: UplinkWatch.Effect) {
        switch effect {
        case .known:
            let uplinks = self.health.uplinks?.uplinks ?? []
            self.publisher.store.write { $0.status.uplinks = uplinks }
        case .publish(let event): self.publisher.bus.publish(.uplink(event))
        case .ask:
            self.uplinks = Task { [diagnoser, send] in
                if let found = await diagnoser?.uplinks() { send { $0.wayOut.handle(.uplinks(found)) } }
            }
        }
    }

    private func explain(_ target: Target) {
        self.explanations[target] = Task { [diagnoser, send] in
            let party = await diagnoser?.responsible(for: target, within: Thresholds.targetDiagnosis.upperBound)
            send { $0.wayOut.handle(.explained(target, party)) }
        }
    }
}
