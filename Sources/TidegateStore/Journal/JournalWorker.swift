internal import GRDB
internal import TidegateLoop
internal import TidegateCore
internal import TidegateSession

/// The journal on its thread: collects, and makes durable together what came together.
final class JournalWorker: LoopHandler {
    enum Command: Sendable {
        case write(JournalWork)
        case find(JournalQuestion, @Sendable (Result<[JournaledTask], JournalError>) -> Void)
        case whenWritable(@Sendable () -> Void)
    }

    private enum Alarm: UInt64 {
        case flush, trial, sweep
    }

    // A transaction does not grow without end while its fsync is awaited by all.
    private static let mostWork = 512

    private let loop: Loop
    private let file: JournalFile
    private let retention: Journal.Retention
    private let surroundings: Journal.Surroundings
    private var pending: [JournalWork] = []
    private var questions: [(JournalQuestion, @Sendable (Result<[JournaledTask], JournalError>) -> Void)] = []
    private var isUrgent = false
    private var flushTimer: TimerID?
    private var awaitingTrial: [@Sendable () -> Void] = []

    init(loop: Loop, file: JournalFile, retention: Journal.Retention, surroundings: Journal.Surroundings) {
        self.loop = loop
        self.file = file
        self.retention = retention
        self.surroundings = surroundings
        self.sweep()
    }

    func receive(_ command: Command) {
        switch command {
        case .write(let work):
            self.pending.append(work)
            self.isUrgent = self.isUrgent || work.isUrgent
            if self.pending.count >= JournalWorker.mostWork { self.flush() }
        case .find(let question, let completion): self.questions.append((question, completion))
        case .whenWritable(let completion):
            if self.awaitingTrial.isEmpty {
                _ = self.loop.schedule(after: .seconds(1), token: Alarm.trial.rawValue)
            }
            self.awaitingTrial.append(completion)
        }
    }

    func timerFired(_ token: UInt64) {
        switch Alarm(rawValue: token) {
        case .flush:
            self.flushTimer = nil
            self.flush()
        case .trial: self.tryAgain()
        case .sweep: self.sweep()
        case nil: break
        }
    }

    func batchEnded() {
        if self.isUrgent || !self.questions.isEmpty { self.flush() }
        let questions = self.questions
        self.questions = []
        for (question, completion) in questions { completion(self.answer(question)) }
        guard !self.pending.isEmpty, self.flushTimer == nil else { return }
        self.flushTimer = self.loop.schedule(after: self.surroundings.patience, token: Alarm.flush.rawValue)
    }

    func stopping() {
        self.flush()
        for completion in self.awaitingTrial { completion() }
    }

    // MARK: - Writing

    private func flush() {
        let work = self.pending
        self.pending = []
        self.isUrgent = false
        guard !work.isEmpty else { return }
        do {
            try self.commit(work)
        } catch {
            // One entry that does not fit must not take the others with it.
            guard work.count > 1 else { return self.fail(work, error) }
            for one in work {
                do {
                    try self.commit([one])
                } catch {
                    self.fail([one], error)
                }
            }
        }
    }

    private func commit(_ work: [JournalWork]) throws {
        let names = Set(work.map(\.name))
        let (began, wall) = (self.surroundings.time.monotonic(), self.surroundings.time.wall())
        self.surroundings.step(.willCommit(names))
        let told = try self.file.queue.write { database in
            try work.map { try $0.apply(to: database, at: wall) }
        }
        self.surroundings.step(.didCommit(names))
        let duration = self.surroundings.time.monotonic() - began
        self.surroundings.onEvent(.committed(entries: work.count, duration: duration))
        for tell in told { tell() }
    }

    private func fail(_ work: [JournalWork], _ error: any Error) {
        let trouble = self.trouble(error)
        self.surroundings.onEvent(.failed(trouble.reason, entries: work.count))
        for one in work { one.fail(trouble) }
    }

    private func trouble(_ error: any Error) -> JournalError {
        guard let error = error as? DatabaseError else {
            return JournalError(.disk, "the journal \(self.file.path) cannot be written: \(error)")
        }
        let words = error.message ?? "\(error.resultCode)"
        guard error.isFullDisk(at: self.file.path) else {
            return JournalError(.disk, "the journal \(self.file.path) cannot be written: \(words)")
        }
        return JournalError(.diskFull, "the disk of the journal \(self.file.path) is full")
    }

    // MARK: - Waiting for the disk

    private func tryAgain() {
        let isGood = (try? self.file.queue.write { try JournalWorker.trial($0) }) != nil
        guard isGood else {
            _ = self.loop.schedule(after: .seconds(1), token: Alarm.trial.rawValue)
            return
        }
        let waiting = self.awaitingTrial
        self.awaitingTrial = []
        for completion in waiting { completion() }
    }

    // Needs room for a row of a usual size, and leaves none.
    private static func trial(_ database: Database) throws {
        let filler = String(repeating: "x", count: 8192)
        try database.execute(sql: "INSERT INTO path_event (time, text) VALUES (-1, ?)", arguments: [filler])
        try database.execute(sql: "DELETE FROM path_event WHERE time = -1")
    }

    // MARK: - Reading and forgetting

    private func answer(_ question: JournalQuestion) -> Result<[JournaledTask], JournalError> {
        do {
            return .success(
                try self.file.queue.read { database in
                    switch question {
                    case .unfinished: try TaskRow.all(where: "outcome IS NULL ORDER BY id", in: database)
                    case .task(let id):
                        try TaskRow.all(where: "id = ?", arguments: [id.description], in: database)
                    case .ended(let most):
                        try TaskRow.all(
                            where: "ended IS NOT NULL ORDER BY ended DESC LIMIT ?", arguments: [most], in: database)
                    }
                })
        } catch {
            return .failure(JournalError(.disk, "the journal \(self.file.path) cannot be read: \(error)"))
        }
    }

    private func sweep() {
        let now = self.surroundings.time.wall().microseconds
        let completed = now - self.retention.completed.wholeNanoseconds / 1000
        let pathEvents = now - self.retention.pathEvents.wholeNanoseconds / 1000
        do {
            try self.file.queue.write { database in
                try database.execute(sql: "DELETE FROM task WHERE ended < ?", arguments: [completed])
                try database.execute(sql: "DELETE FROM path_event WHERE time < ?", arguments: [pathEvents])
            }
        } catch {
            self.surroundings.onEvent(.failed(self.trouble(error).reason, entries: 0))
        }
        _ = self.loop.schedule(after: .seconds(600), token: Alarm.sweep.rawValue)
    }
}
