internal import Foundation
internal import Glibc
internal import Synchronization
package import TidegateCore
internal import TidegateLoop
package import TidegateSession
@_exported public import TidegateTestKit

/// A session with scripted dependencies, and a recorder of every event, unless it records nothing.
package final class SessionFixture {
    package let paths: ScriptedPathSource
    package let resolver: ScriptedResolver
    package let recorder = RecordingSink()
    package let session: Session

    package init(
        _ configuration: SessionConfiguration = .init(), paths: ScriptedPathSource = ScriptedPathSource(),
        resolver: ScriptedResolver = ScriptedResolver(), hooks: SessionHooks? = nil, observer: TaskObserver? = nil,
        time: any TimeSource = SystemClock(), tracer: (any TaskTracer)? = nil,
        isRecorded: Bool = true, diagnosis: @escaping @Sendable (AddressFamily) -> SilenceEvidence? = { _ in nil }
    ) throws {
        let bus = EventBus(time: time)
        if isRecorded { bus.attach(self.recorder) }
        self.paths = paths
        self.resolver = resolver
        self.session = try Session(
            configuration, bus: bus, paths: paths, resolver: resolver, time: time,
            generator: SeededGenerator(seed: 7), journal: nil, hooks: hooks, observer: observer,
            tracer: tracer, diagnosis: diagnosis)
    }

    /// Makes a task and resumes it.
    package func run(_ request: TaskRequest) -> TransferTask {
        let task = self.session.makeTask(request)
        task.resume()
        return task
    }

    /// The names of a task's events.
    package func eventNames(of task: TransferTask) -> [String] {
        self.recorder.taskChanges(of: task.id).map(\.eventName)
    }

    /// How many connection pools were begun after the first.
    package var poolRenewals: Int {
        self.recorder.events.count {
            if case .session(.poolReplaced) = $0.payload { true } else { false }
        }
    }

    /// Waits until the condition holds; false if it does not within a minute.
    package func wait(_ holds: () -> Bool) async -> Bool {
        let time = SystemClock()
        let end = time.monotonic() + .seconds(60)
        while time.monotonic() < end {
            if holds() { return true }
            try? await Task.sleep(for: .milliseconds(2))
        }
        return holds()
    }

    /// A body's stream that gives these chunks, each after the delay.
    package static func stream(_ chunks: [[UInt8]], length: Int64? = nil, delay: Duration? = nil) -> UploadStream {
        let rest = Chunks(chunks)
        return UploadStream(length: length) {
            if let delay { try await Task.sleep(for: delay) }
            return rest.next()
        }
    }
}

private final class Chunks: Sendable {
    private let rest: Mutex<[[UInt8]]>
    init(_ chunks: [[UInt8]]) { self.rest = Mutex(chunks) }
    func next() -> [UInt8]? { self.rest.withLock { $0.isEmpty ? nil : $0.removeFirst() } }
}

/// A temporary directory, removed with its object.
package final class Scratch {
    package let path: String

    package init() throws {
        var template = Array("/tmp/tidegate-session-XXXXXX".utf8CString)
        let made = template.withUnsafeMutableBufferPointer { $0.baseAddress.map { mkdtemp($0) } ?? nil }
        guard made != nil else { throw TextError("no temporary directory") }
        self.path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    deinit {
        try? FileManager.default.removeItem(atPath: self.path)
    }

    package func file(_ name: String) -> String { "\(self.path)/\(name)" }

    package var names: [String] {
        guard let directory = opendir(self.path) else { return [] }
        defer { closedir(directory) }
        var names: [String] = []
        while let entry = readdir(directory) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names.sorted()
    }

    package func bytes(_ name: String) -> [UInt8]? {
        let descriptor = open(self.file(name), O_RDONLY)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { return nil }
        var bytes = [UInt8](repeating: 0, count: Int(status.st_size))
        guard read(descriptor, &bytes, bytes.count) == bytes.count else { return nil }
        return bytes
    }

    /// Whether a file is the test pattern; compared here, because a mismatch would print both.
    package func hasPattern(_ name: String, _ count: Int64) -> Bool {
        self.bytes(name) == LiveServerAnswer.bytes(count: count)
    }

    package func remove(_ name: String) { unlink(self.file(name)) }

    package func write(_ bytes: [UInt8], to name: String) {
        let descriptor = open(self.file(name), O_WRONLY | O_CREAT | O_TRUNC, 0o644)
        _ = Glibc.write(descriptor, bytes, bytes.count)
        close(descriptor)
    }
}

extension TaskEvent.Kind {
    /// The event's name, with what distinguishes it from others of its kind.
    package var eventName: String {
        switch self {
        case .created: "created"
        case .resumed: "resumed"
        case .suspended: "suspended"
        case .held(let reason, _): "held(\(reason.rawValue))"
        case .released(let reason, _): "released(\(reason.rawValue))"
        case .gate(let result, _): "gate(\(result.rawValue))"
        case .attemptStarted(let number): "attemptStarted(\(number))"
        case .responseHead(let status, _): "responseHead(\(status))"
        case .progress: "progress"
        case .attemptFailed(_, let failure, _, let isCharged):
            "attemptFailed(\(failure.rawValue)\(isCharged ? "" : ", free"))"
        case .attemptSucceeded: "attemptSucceeded"
        case .retryScheduled(let reason, _): "retryScheduled(\(reason.label))"
        case .retriesExhausted(let reason): "retriesExhausted(\(reason.rawValue))"
        case .continued: "continued"
        case .restarted: "restarted"
        case .refetched: "refetched"
        case .moved: "moved"
        case .moveFailed: "moveFailed"
        case .completed(let result): "completed(\(result.outcome.rawValue))"
        }
    }
}

/// An open file to write to.
package final class ScratchOutput {
    package let descriptor: Int32

    package init(_ path: String) throws {
        self.descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0o644)
        guard self.descriptor >= 0 else { throw TextError("\(path) cannot be opened") }
    }

    deinit { close(self.descriptor) }
}

extension SessionConfiguration {
    /// The defaults, but for what `change` sets.
    package static func with(_ change: (inout SessionConfiguration) throws -> Void) rethrows -> SessionConfiguration {
        var configuration = SessionConfiguration()
        try change(&configuration)
        return configuration
    }
}
