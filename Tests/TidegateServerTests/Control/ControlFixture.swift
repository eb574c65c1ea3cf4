import Foundation
import Synchronization
import Testing
import TidegateLoop
import TidegateTestKit

@testable import TidegateCore
@testable import TidegateServer

/// A daemon with one task.
final class FakeControl: TaskControl {
    let submitted = Mutex<[TaskSubmission]>([])
    let commands = Mutex<[ControlCommand]>([])
    let callers = Mutex<[ControlCaller]>([])
    /// The pieces of a file that is the body; nil if the body is kept.
    let pieces: (@Sendable () throws -> [UInt8])?
    let id: TaskID

    init(pieces: (@Sendable () throws -> [UInt8])? = nil) {
        self.pieces = pieces
        var generator = SystemRandomNumberGenerator()
        self.id = TaskID(at: WallTime(microseconds: 1), using: &generator)
    }

    func submit(
        _ submission: TaskSubmission, by caller: ControlCaller
    ) async throws(ControlRefusal) -> SubmitResponse {
        if submission.name == "full" { throw ControlRefusal(.diskFull, "the disk is full") }
        self.submitted.withLock { $0.append(submission) }
        self.callers.withLock { $0.append(caller) }
        return SubmitResponse(id: self.id, isNew: submission.key != "known")
    }

    func tasks(after: TaskID?, atMost limit: Int) async throws(ControlRefusal) -> TaskSlice<TaskDocument> {
        TaskSlice(tasks: [TaskDocument(self.info)], next: nil, total: 1)
    }

    func task(_ id: TaskID) async throws(ControlRefusal) -> TaskDocument {
        guard id == self.id else { throw ControlRefusal(.unknown, "there is no task \(id)") }
        return TaskDocument(self.info)
    }

    func body(_ id: TaskID, for caller: ControlCaller) async throws(ControlRefusal) -> TaskBody {
        guard id == self.id else { throw ControlRefusal(.unknown, "there is no task \(id)") }
        self.callers.withLock { $0.append(caller) }
        return self.pieces.map { .file($0) } ?? .kept([0, 10, 255])
    }

    func export(_ id: TaskID, as format: ExportFormat, showingSecrets: Bool) async throws(ControlRefusal) -> String {
        "\(try await self.task(id).method) as \(format)\(showingSecrets ? " with secrets" : "")"
    }

    func command(_ command: ControlCommand, _ id: TaskID) async throws(ControlRefusal) -> TaskDocument {
        self.commands.withLock { $0.append(command) }
        return try await self.task(id)
    }

    private var info: TaskInfo {
        TaskInfo(
            id: self.id, kind: .data, method: "GET", url: "http://a/", state: .suspended,
            progress: TransferProgress(), created: WallTime(microseconds: 1))
    }
}

/// A server on a socket of its own.
struct ControlFixture {
    var control = FakeControl()
    let bus = EventBus(time: SystemClock())
    let path = "/tmp/tidegate-control-\(UUID().uuidString.prefix(8))/control.sock"

    var client: ControlClient { ControlClient(socket: self.path) }

    func serving(_ work: (ControlFixture) async throws -> Void) async throws {
        let server = ControlServer(path: self.path, control: self.control, bus: self.bus, time: SystemClock())
        let run = Task { try await server.run() }
        let isListening = await eventually {
            let attributes = try? FileManager.default.attributesOfItem(atPath: self.path)
            return attributes?[.posixPermissions] as? Int == 0o660
        }
        #expect(isListening)
        do {
            try await work(self)
        } catch {
            Issue.record(error)
        }
        run.cancel()
        _ = try? await run.value
        let isRemoved = !FileManager.default.fileExists(atPath: self.path)
        #expect(isRemoved)
        try? FileManager.default.removeItem(atPath: String(self.path.dropLast("/control.sock".count)))
    }
}
