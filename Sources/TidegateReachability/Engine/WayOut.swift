internal import TidegateAttribution
internal import TidegateCore

/// Keeps what is known of this host's way out beyond the kernel: checks of the internet, and diagnoses.
final class WayOut {
    /// Checks the internet; nil if that is not configured.
    let internet: InternetCheck?
    private var health: HostHealth
    private let diagnoser: (any HostDiagnoser)?
    private let publisher: VerdictPublisher
    private let send: @Sendable (@escaping ReachabilityEngine.Command) -> Void
    private var effects: [HostHealth.Effect] = []
    /// The calls that wait for the end of a diagnosis.
    private var waiting: [(WayOut) -> Void] = []
    private var worker: Task<Void, Never>?

    init(_ dependencies: ReachabilityEngine.Dependencies, publisher: VerdictPublisher) {
        self.internet = InternetCheck(dependencies)
        self.diagnoser = dependencies.diagnoser
        self.health = HostHealth(isWatching: dependencies.diagnosesHost && self.diagnoser != nil)
        self.publisher = publisher
        self.send = dependencies.send
    }

    /// The families over which nothing works although they have a route.
    var failing: [AddressFamily: UnreachableReason] { self.health.failing }

    /// When ``HostHealth/Input/timer`` is due, on the bus's clock; nil if it is not.
    var deadline: MonotonicTime? { self.health.deadline }

    /// Records an input; its effects wait for ``nextEffect()``.
    func handle(_ input: HostHealth.Input) {
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
            case .diagnose(let round): self.diagnose(round)
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

    /// Calls back with the cause of an address's silence; see ``HostHealth/outage(at:through:at:)``.
    func outage(
        at address: IPAddress?, through gateway: IPAddress?, _ call: @escaping @Sendable (Cause?) -> Void
    ) {
        let answer = { (host: WayOut) in
            call(host.health.outage(at: address, through: gateway, at: host.publisher.time.monotonic()))
        }
        if self.health.isCurrent(at: self.publisher.time.monotonic()) { answer(self) } else { self.diagnose(answer) }
    }

    /// Ends a running diagnosis, and calls back those that wait for it.
    func stop() {
        self.worker?.cancel()
        self.release()
    }

    private func release() {
        let calls = self.waiting
        self.waiting = []
        for call in calls { call(self) }
    }

    private func diagnose(_ round: Int) {
        self.worker = Task { [diagnoser, send] in
            guard let found = await diagnoser?.diagnoseHost(within: Thresholds.hostDiagnosis) else { return }
            send { $0.diagnosed(round, found) }
        }
    }
}
