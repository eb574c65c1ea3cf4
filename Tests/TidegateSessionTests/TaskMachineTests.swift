import Testing
import TidegateCore
import TidegateSessionTestKit

@testable import TidegateSession

@Suite
struct TaskMachineTests {
    /// The states a machine can be in, as far as inputs are concerned.
    enum Setting: CaseIterable {
        case fresh, held, seeking, running, paused, deciding, finishing, parked, ended

        var machine: TaskMachine {
            var machine = TaskMachine()
            let now = MonotonicTime(nanoseconds: 0)
            for input in self.way { _ = machine.handle(input, at: now) }
            return machine
        }

        private var way: [TaskMachine.Input] {
            switch self {
            case .fresh: []
            case .held: [.resume, .hold(.path, detail: "x")]
            case .seeking: [.resume]
            case .running: [.resume, .admit]
            case .paused: [.resume, .admit, .suspend(.user)]
            case .deciding: [.resume, .admit, .attemptAsks]
            case .finishing: [.resume, .admit, .attemptCompletes(needsCommit: true)]
            case .parked:
                [
                    .resume, .admit, .attemptCompletes(needsCommit: true),
                    .commitHolds(.path, detail: "x", isWhole: true),
                ]
            case .ended: [.cancel]
            }
        }
    }

    static let inputs: [TaskMachine.Input] = [
        .resume, .suspend(.user), .cancel, .hold(.path, detail: "x"), .release(.path), .admit, .releaseConnection,
        .losePath(detail: "x"), .changePath, .attemptLeads, .attemptHolds(.backoff, detail: nil),
        .attemptCompletes(needsCommit: true),
        .attemptCompletes(needsCommit: false), .committed(isGood: true), .committed(isGood: false), .fail,
        .attemptHolds(.disk, detail: "full"), .attemptAsks, .decided, .foundDone,
        .commitHolds(.disk, detail: "full", isWhole: true), .commitHolds(.disk, detail: "full", isWhole: false),
        .commitLeads,
    ]

    private static let held = TaskMachine.Effect.report(.held(.path, detail: "x"))
    private static let backedOff = TaskMachine.Effect.report(.held(.backoff, detail: nil))
    private static let diskHeld = TaskMachine.Effect.report(.held(.disk, detail: "full"))
    private static let released = TaskMachine.Effect.report(.released(.path, after: .seconds(1)))
    private static let suspended = TaskMachine.Effect.report(.suspended(.user))

    /// What every input does in every state: whatever is not listed does nothing.
    static func expected(_ setting: Setting, _ input: TaskMachine.Input) -> [TaskMachine.Effect] {
        switch (setting, input) {
        case (.fresh, .resume): [.report(.resumed), .seek]
        case (.fresh, .cancel): [.end(.cancelled)]
        case (.fresh, .hold): [self.held]
        case (.fresh, .fail): [.end(.failure)]
        case (.held, .suspend): [self.suspended]
        case (.held, .cancel): [self.released, .end(.cancelled)]
        case (.held, .release): [self.released, .seek]
        case (.held, .fail): [self.released, .end(.failure)]
        case (.seeking, .suspend): [.stopSeeking, self.suspended]
        case (.seeking, .cancel): [.stopSeeking, .end(.cancelled)]
        case (.seeking, .hold): [.stopSeeking, self.held]
        case (.seeking, .admit): [.report(.attemptStarted(1)), .start(attempt: 1)]
        case (.seeking, .fail): [.stopSeeking, .end(.failure)]
        case (.running, .suspend): [self.suspended, .pause]
        case (.running, .hold), (.running, .losePath): [.detach(.pathLost), self.held]
        case (.running, .changePath): [.detach(.pathLost), .seek]
        case (.running, .attemptLeads): [.seek]
        case (.paused, .resume): [.report(.resumed), .unpause]
        case (.paused, .hold), (.paused, .losePath): [.detach(.pathLost), self.held]
        case (.paused, .changePath): [.detach(.pathLost)]
        case (.paused, .releaseConnection): [.detach(.suspended)]
        case (.running, .cancel), (.paused, .cancel): [.detach(.ended), .end(.cancelled)]
        case (.running, .fail), (.paused, .fail): [.detach(.ended), .end(.failure)]
        case (.running, .attemptHolds(.backoff, _)), (.paused, .attemptHolds(.backoff, _)): [self.backedOff]
        case (.running, .attemptCompletes(true)), (.paused, .attemptCompletes(true)): [.commit]
        case (.running, .attemptCompletes(false)), (.paused, .attemptCompletes(false)): [.end(.success)]
        case (.running, .attemptHolds), (.paused, .attemptHolds): [self.diskHeld]
        case (.deciding, .suspend): [self.suspended]
        case (.deciding, .hold): [self.held]
        case (.deciding, .decided): [.seek]
        case (.deciding, .cancel): [.end(.cancelled)]
        case (.deciding, .fail): [.end(.failure)]
        case (.fresh, .foundDone), (.deciding, .foundDone): [.end(.success)]
        case (.held, .foundDone): [self.released, .end(.success)]
        case (.seeking, .foundDone): [.stopSeeking, .end(.success)]
        case (.running, .foundDone), (.paused, .foundDone): [.detach(.ended), .end(.success)]
        case (.finishing, .foundDone): [.abandonCommit, .end(.success)]
        case (.finishing, .suspend): [self.suspended]
        case (.finishing, .cancel): [.abandonCommit, .end(.cancelled)]
        case (.finishing, .committed(true)): [.end(.success)]
        case (.finishing, .committed(false)): [.end(.failure)]
        case (.finishing, .commitHolds): [self.diskHeld]
        case (.finishing, .commitLeads): [.seek]
        case (.parked, .suspend): [self.suspended]
        case (.parked, .release): [self.released, .commit]
        case (.parked, .cancel): [self.released, .end(.cancelled)]
        case (.parked, .fail): [self.released, .end(.failure)]
        case (.parked, .foundDone): [self.released, .end(.success)]
        default: []
        }
    }

    @Test("Every input does in every state what the table says", arguments: Setting.allCases)
    func table(_ setting: Setting) {
        for input in TaskMachineTests.inputs {
            var machine = setting.machine
            let effects = machine.handle(input, at: MonotonicTime(nanoseconds: 1_000_000_000))
            #expect(effects == TaskMachineTests.expected(setting, input), "\(setting) × \(input)")
        }
    }

    @Test("Suspensions nest, and resuming too often does no harm")
    func nesting() {
        var machine = TaskMachine()
        let now = MonotonicTime(nanoseconds: 0)
        func does(_ input: TaskMachine.Input) -> [TaskMachine.Effect] { machine.handle(input, at: now) }
        #expect(does(.suspend(.user)) == [])
        #expect(does(.resume) == [])
        #expect(machine.state == .suspended)
        #expect(does(.resume) == [.report(.resumed), .seek])
        #expect(does(.resume) == [])
        #expect(machine.suspendCount == 0)
    }

    @Test("The public state says what a task waits for, and suspension before that")
    func states() {
        #expect(Setting.fresh.machine.state == .suspended)
        #expect(Setting.held.machine.state == .waiting(.path, detail: "x"))
        #expect(Setting.running.machine.state == .running(attempt: 1))
        #expect(Setting.paused.machine.state == .suspended)
        #expect(Setting.deciding.machine.state == .running(attempt: 1))
        #expect(Setting.finishing.machine.state == .running(attempt: 1))
        #expect(Setting.parked.machine.state == .waiting(.path, detail: "x"))
        #expect(Setting.ended.machine.state == .completed(.cancelled))
    }

    @Test("A file that waits for its place is put there once neither a hold nor its user keeps it")
    func parked() {
        var machine = Setting.finishing.machine
        let now = MonotonicTime(nanoseconds: 0)
        func does(_ input: TaskMachine.Input) -> [TaskMachine.Effect] { machine.handle(input, at: now) }
        #expect(does(.commitHolds(.disk, detail: nil, isWhole: true)) == [.report(.held(.disk, detail: nil))])
        #expect(does(.suspend(.user)) == [.report(.suspended(.user))])
        #expect(does(.release(.disk)) == [.report(.released(.disk, after: .zero))])
        #expect(machine.state == .suspended)
        #expect(does(.resume) == [.report(.resumed), .commit])
        #expect(does(.commitHolds(.disk, detail: nil, isWhole: false)) == [.report(.held(.disk, detail: nil))])
        #expect(does(.release(.disk)) == [.report(.released(.disk, after: .zero)), .seek])
    }

    @Test("Holds are counted while they last, whatever ends them")
    func heldTotals() {
        var machine = Setting.held.machine
        _ = machine.handle(.release(.path), at: MonotonicTime(nanoseconds: 2_000_000_000))
        _ = machine.handle(.hold(.path, detail: nil), at: MonotonicTime(nanoseconds: 3_000_000_000))
        _ = machine.handle(.cancel, at: MonotonicTime(nanoseconds: 4_000_000_000))
        #expect(machine.heldTotals == [.path: .seconds(3)])
    }

    @Test("Ten thousand random lives each have one end, nothing after it, and balanced holds")
    func interleavings() {
        var chance = SeededGenerator(seed: 2026)
        for life in 0..<10_000 {
            var script = Life()
            for step in 0..<30 {
                let input = script.nextInput(using: &chance)
                script.take(input, at: MonotonicTime(nanoseconds: UInt64(step)))
                if script.defect != nil { break }
            }
            script.take(.cancel, at: MonotonicTime(nanoseconds: 60))
            #expect(script.defect == nil, "life \(life): \(script.defect ?? "") after \(script.inputs)")
            #expect(script.ends == 1, "life \(life)")
            #expect(script.heldNow.isEmpty, "life \(life)")
            if script.defect != nil { return }
        }
    }

    /// A machine with a shell that only looks.
    private struct Life {
        var machine = TaskMachine()
        var inputs: [TaskMachine.Input] = []
        var ends = 0
        var heldNow: Set<HoldReason> = []
        var isOnWire = false
        var isSuspended = true
        var defect: String?

        func nextInput(using chance: inout SeededGenerator) -> TaskMachine.Input {
            let reasons = HoldReason.allCases
            let reason = reasons.randomElement(using: &chance) ?? .path
            let often: [TaskMachine.Input] = [
                .resume, .suspend(.user), .admit, .admit, .release(reason), .release(reason), .attemptAsks, .decided,
                .decided,
            ]
            switch Int.random(in: 0..<100, using: &chance) {
            case 0..<60: return often.randomElement(using: &chance) ?? .resume
            case 60..<75: return .hold(reason, detail: nil)
            default: return TaskMachineTests.inputs.randomElement(using: &chance) ?? .resume
            }
        }

        mutating func take(_ input: TaskMachine.Input, at now: MonotonicTime) {
            self.inputs.append(input)
            let wasOver = self.machine.isOver
            let effects = self.machine.handle(input, at: now)
            if wasOver, !effects.isEmpty { self.defect = "effects after the end" }
            for effect in effects { self.look(at: effect) }
            let mayRun = self.machine.suspendCount == 0 && self.machine.heldReasons.isEmpty
            switch self.machine.phase {
            case .idle: if mayRun { self.defect = "idle although nothing is in the way" }
            case .seeking, .running: if !mayRun { self.defect = "under way although something is in the way" }
            case .paused: if self.machine.suspendCount == 0 { self.defect = "paused although not suspended" }
            case .parked: if mayRun { self.defect = "parked although nothing is in the way" }
            case .deciding, .finishing, .ended: break
            }
            if Set(self.machine.heldReasons) != self.heldNow { self.defect = "holds told are not the holds in force" }
        }

        private mutating func look(at effect: TaskMachine.Effect) {
            if self.ends > 0 { self.defect = "\(effect) after the end" }
            switch effect {
            case .report(.held(let reason, _)):
                if !self.heldNow.insert(reason).inserted { self.defect = "held twice for \(reason)" }
            case .report(.released(let reason, _)):
                if self.heldNow.remove(reason) == nil { self.defect = "released from \(reason) without a hold" }
            case .report(.resumed):
                if !self.isSuspended { self.defect = "resumed twice" }
                self.isSuspended = false
            case .report(.suspended):
                if self.isSuspended { self.defect = "suspended twice" }
                self.isSuspended = true
            case .start:
                if self.isOnWire { self.defect = "two attempts at once" }
                self.isOnWire = true
            case .detach, .commit:
                if !self.isOnWire { self.defect = "\(effect) without an attempt" }
                self.isOnWire = false
            case .end: self.ends += 1
            case .seek: self.isOnWire = false
            case .report(.attemptStarted), .stopSeeking, .pause, .unpause, .abandonCommit: break
            }
            if self.machine.phase == .idle || self.machine.phase == .deciding { self.isOnWire = false }
        }
    }
}

extension TaskMachine {
    /// Takes an input, and gives what follows from it.
    fileprivate mutating func handle(_ input: Input, at now: MonotonicTime) -> [Effect] {
        var queue = ReusedQueue<Effect>()
        self.handle(input, at: now, &queue)
        var effects: [Effect] = []
        while let effect = queue.takeFirst() { effects.append(effect) }
        return effects
    }
}
