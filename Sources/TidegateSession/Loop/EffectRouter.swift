internal import TidegateTransfer

/// Leads what the tasks' machines decide to the component that does it.
final class EffectRouter: TaskEffectHandler {
    private let admission: AttemptAdmission
    private let bodies: TaskBodies
    private let runner: AttemptRunner
    private let paths: PathLossHandler
    private let finisher: TaskFinisher

    init(
        admission: AttemptAdmission, bodies: TaskBodies, runner: AttemptRunner, paths: PathLossHandler,
        finisher: TaskFinisher
    ) {
        self.admission = admission
        self.bodies = bodies
        self.runner = runner
        self.paths = paths
        self.finisher = finisher
    }

    func carryOut(_ effect: TaskMachine.Effect, _ record: TaskRecord) {
        switch effect {
        case .report: break
        case .seek: if self.bodies.prepare(record) { self.admission.seek(record) }
        case .stopSeeking: self.admission.stopSeeking(record)
        case .start: self.runner.start(record)
        case .pause: self.paths.pause(record)
        case .unpause: self.paths.unpause(record)
        case .detach(let cause): self.paths.detach(record, cause)
        case .commit: self.finisher.commit(record)
        // The disk's answer will find the task over.
        case .abandonCommit: break
        case .end: self.finisher.end(record)
        }
    }
}
