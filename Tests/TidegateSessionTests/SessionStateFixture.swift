import Synchronization
import TidegateCore
import TidegateLoop
import TidegateSessionTestKit
import TidegateTransfer

@testable import TidegateSession

/// A session's state without a thread: inputs go in, and what is to be done comes out as words.
final class SessionStateFixture {
    /// What the state reads of libcurl's side; its timers never fire by themselves.
    private final class Engine: AttemptEngine {
        private var heap = TimerHeap()
        var poolGeneration = 1
        var progress: [AttemptID: AttemptProgress] = [:]

        func schedule(at moment: MonotonicTime, token: UInt64) -> TransferTimer {
            self.heap.schedule(at: moment, token: token)
        }

        func schedule(after delay: Duration, token: UInt64) -> TransferTimer {
            self.schedule(at: MonotonicTime(nanoseconds: 0) + delay, token: token)
        }

        func cancel(_ timer: TransferTimer) { self.heap.cancel(timer) }

        func progress(of id: AttemptID) -> AttemptProgress? { self.progress[id] }
        func isConnected(_ id: AttemptID) -> Bool { self.progress[id] != nil }
        func failedConnect(of id: AttemptID) -> FailedConnect? { nil }
    }

    private final class Hands: TaskController {
        let events = SessionEvents(time: ManualTime())
        func send(_ command: TidegateSession.TaskCommand, to task: TransferTask) -> Bool { false }
    }

    let paths = ScriptedPathSource()
    private let engine = Engine()
    private let dependencies: SessionDependencies
    private var state: SessionState
    private var now = MonotonicTime(nanoseconds: 1_000_000_000)
    private var tasks: [TransferTask] = []

    init(
        _ configuration: SessionConfiguration = .init(), paths: (any PathSource)? = nil,
        journal: (any JournalStorage)? = nil, hooks: SessionHooks? = nil
    ) throws {
        let time = ManualTime()
        self.dependencies = SessionDependencies(
            configuration: configuration, bus: EventBus(time: time), paths: paths ?? self.paths,
            resolver: ScriptedResolver(),
            time: time, random: RandomSource(SeededGenerator(seed: 7)), disk: try DiskThread(),
            mailbox: Mailbox(events: SessionEvents(time: time)), registry: TaskRegistry(keepingEnded: 8),
            journal: journal, hooks: hooks, observer: nil, tracer: nil, diagnosis: { _ in nil })
        self.state = SessionState(self.engine, self.dependencies)
    }

    deinit { self.dependencies.disk.stop() }

    /// Makes a task, which is numbered from 1; an accepted one if the journal has it.
    func make(_ request: TaskRequest, accepted: JournaledTask? = nil) {
        let number = self.dependencies.registry.reserve() ?? 0
        let wall = self.dependencies.time.wall()
        let task = TransferTask(
            id: accepted?.id ?? self.dependencies.random.taskID(at: wall), number: number, request: request,
            shared: PublishedTaskState(url: request.url, created: wall), controller: Hands(),
            journaled: accepted.map { Indirect($0) })
        _ = self.dependencies.registry.add(task)
        self.tasks.append(task)
    }

    func task(_ number: Int) -> TransferTask { self.tasks[number - 1] }

    /// Lets time pass, without a timer.
    func pass(_ duration: Duration) { self.now = self.now + duration }

    /// Handles an input; the events that follow from it, and what is to be done, without what is shown of tasks.
    func handle(_ input: SessionInput, showsTasks: Bool = false) -> (events: [String], effects: [String]) {
        var queue = EffectQueue()
        var effects: [String] = []
        self.state.handle(input, at: self.now, into: &queue)
        while let effect = queue.takeEffect() {
            switch effect {
            case .beginPool: self.engine.poolGeneration += 1
            case .end(let task, _, _): _ = self.dependencies.registry.end(task)
            default: break
            }
            if case .show(let record) = effect, showsTasks { effects.append("show \(record.number)") }
            if let text = self.shown(effect) { effects.append(text) }
        }
        var events: [String] = []
        while let event = queue.events.takeFirst() { if let text = self.shown(event) { events.append(text) } }
        return (events, effects)
    }

    private func shown(_ event: Event.Payload) -> String? {
        switch event {
        case .session(let event): return "session: \("\(event)".prefix { $0 != "(" })"
        case .task(let event):
            let task = self.tasks.first { $0.id == event.id }
            return "\(task?.number ?? 0): \(event.kind.eventName)"
        default: return nil
        }
    }

    private func shown(_ effect: SessionEffect) -> String? {
        switch effect {
        case .trace, .show, .showProgress: nil
        case .showWaiting(let task, _, let reason): "showWaiting \(task.number) \(reason.rawValue)"
        case .end(let task, let result, let end):
            "end \(task.number) (\(result.outcome.rawValue)\(end.isPreserved ? ", preserved" : ""))"
                + (end.dependents.isEmpty ? "" : " releases \(end.dependents)")
        case .launch(let request):
            "launch \(request.value.id.shown) \(request.value.method) \(request.value.url.text)"
                + (request.value.resume.map { " from \($0.offset)" } ?? "")
                + (request.value.usesFreshConnection ? " fresh" : "")
        case .discard(let id): "discard \(id.shown)"
        case .pause(let id): "pause \(id.shown)"
        case .unpause(let id): "unpause \(id.shown)"
        case .proceed(let id, _): "proceed \(id.shown)"
        case .sinkHasRoom(let id): "sinkHasRoom \(id.shown)"
        case .sourceHasBytes(let id): "sourceHasBytes \(id.shown)"
        case .beginPool: "beginPool"
        case .resolve(let name, _, let lookup): "resolve \(name) (\(lookup))"
        case .forgetNames: "forgetNames"
        case .record(let entry, let answer): "record \(entry.shown)\(answer == nil ? "" : ", answered")"
        case .awaitJournal: "awaitJournal"
        case .disk(let job): "disk\(job.task == nil ? "" : ", answered")"
        case .forget: "forget"
        case .ask(let task, let question, _): "ask \(task).\(question)"
        case .stopAsking(let task): "stopAsking \(task)"
        case .showResponse, .showData, .reportProgress, .runHandler, .call: "app"
        }
    }
}

extension AttemptID {
    /// Task and attempt: `1.2`.
    fileprivate var shown: String { "\(self.task).\(self.rawValue & 0xFF_FFFF)" }

    static func of(_ task: UInt64, _ attempt: Int) -> AttemptID { AttemptID(task: task, attempt: attempt) }
}

extension JournalEntry {
    fileprivate var shown: String { String("\(self)".prefix { $0 != "(" }) }
}
