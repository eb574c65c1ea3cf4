internal import Glibc
internal import Synchronization
internal import TidegateLoop
internal import TidegateCore
internal import TidegateTestKit
internal import TidegateTransfer

/// A transfer thread whose client does what the test says and remembers every report.
final class AttemptRecorder: Sendable {
    typealias Action = @Sendable (TransferEngine) -> Void
    typealias Reaction = @Sendable (AttemptID, AttemptReport, TransferEngine) -> Void

    private let thread: TransferThread<Client>
    private let log = Log()

    final class Log: Sendable {
        let reports = Mutex<[(id: AttemptID, report: AttemptReport)]>([])
        let finished = Mutex<[AttemptID: AttemptOutcome]>([:])
        let refused = Mutex<[AttemptID: CurlError]>([:])
    }

    final class Client: TransferClient {
        typealias Command = Action
        let engine: TransferEngine
        let log: Log
        let reaction: Reaction

        init(engine: TransferEngine, log: Log, reaction: @escaping Reaction) {
            self.engine = engine
            self.log = log
            self.reaction = reaction
        }

        func receive(_ command: Action) { command(self.engine) }

        func attempt(_ id: AttemptID, reported report: AttemptReport) {
            self.log.reports.withLock { $0.append((id, report)) }
            if case .finished(let outcome) = report { self.log.finished.withLock { $0[id] = outcome.value } }
            self.reaction(id, report, self.engine)
        }

        func timerFired(_ token: UInt64) {}
        func batchEnded() {}
        func stopping() {}
    }

    /// `namespace` is where its attempts are made; nil is the test's own.
    init(in namespace: NetworkNamespace? = nil, reaction: @escaping Reaction = { _, _, _ in }) throws {
        let log = self.log
        self.thread = try TransferThread { engine in
            namespace?.enter()
            return Client(engine: engine, log: log, reaction: reaction)
        }
    }

    deinit { self.thread.stop() }

    /// Runs something on the transfer thread.
    func perform(_ action: @escaping Action) { self.thread.send(action) }

    /// Asks the engine something and waits for the answer.
    func ask<Value: Sendable>(_ question: @escaping @Sendable (TransferEngine) -> Value) throws -> Value {
        let answer = Answer<Value>()
        self.perform { engine in answer.value.withLock { $0 = question(engine) } }
        return try eventually("an answer of the engine's") { answer.value.withLock { $0 } }
    }

    func start(_ request: AttemptRequest) {
        let log = self.log
        self.perform { engine in
            do throws(CurlError) {
                try engine.start(Indirect(request))
            } catch {
                log.refused.withLock { $0[request.id] = error }
            }
        }
    }

    /// Runs one attempt to its end.
    func run(_ request: AttemptRequest, within seconds: Int = 300) throws -> AttemptOutcome {
        self.start(request)
        return try self.outcome(of: request.id, within: seconds)
    }

    func outcome(of id: AttemptID, within seconds: Int = 300) throws -> AttemptOutcome {
        try eventually("the end of attempt \(id.rawValue)", within: seconds) {
            self.log.finished.withLock { $0[id] }
        }
    }

    /// The kinds of reports heard, progress left out.
    func kinds(of id: AttemptID) -> [String] {
        self.reports(of: id).map(AttemptRecorder.name).filter { $0 != "progress" }
    }

    static func name(of report: AttemptReport) -> String {
        switch report {
        case .wireReached: "wireReached"
        case .head: "head"
        case .progress: "progress"
        case .finished: "finished"
        }
    }

    /// Body bytes a running attempt has taken.
    func received(by id: AttemptID) throws -> Int64 { try self.ask { $0.progress(of: id)?.received ?? 0 } }

    func refusal(of id: AttemptID) throws -> CurlError {
        try eventually("a refusal") { self.log.refused.withLock { $0[id] } }
    }

    func reports(of id: AttemptID) -> [AttemptReport] {
        self.log.reports.withLock { $0.filter { $0.id == id }.map(\.report) }
    }
}

private final class Answer<Value: Sendable>: Sendable {
    let value = Mutex<Value?>(nil)
}

/// Something that a test waited for did not come.
struct NothingCame: Error, CustomStringConvertible {
    let description: String
}

/// Polls until `value` gives one.
@discardableResult
func eventually<Value>(
    _ what: String, within seconds: Int = 300, _ value: () throws -> Value?
) throws -> Value {
    for _ in 0..<seconds * 500 {
        if let value = try value() { return value }
        usleep(2000)
    }
    throw NothingCame(description: "\(what) did not come within \(seconds) s")
}

/// Polls until `condition` holds.
func eventually(_ what: String, within seconds: Int = 300, holds condition: () throws -> Bool) throws {
    _ = try eventually(what, within: seconds) { try condition() ? true : nil }
}

extension AttemptID {
    init(_ number: UInt64) { self.init(rawValue: number) }
}

extension AttemptRequest {
    init(_ number: UInt64, _ url: String, _ sink: BodySink = .memory(limit: 16 << 20)) throws {
        self.init(id: AttemptID(number), url: try HTTPURL(url), sink: sink)
    }
}
