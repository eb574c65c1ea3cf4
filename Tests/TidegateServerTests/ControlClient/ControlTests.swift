import Foundation
import Glibc
import Synchronization
import Testing
import TidegateCore
import TidegateLoop
import TidegateTestKit

@testable import TidegateServer

@Suite(.timeLimit(.minutes(5)))
struct ControlTests {
    /// A daemon's tasks, as a table.
    private final class Desk: TaskControl {
        let submitted = Mutex<[TaskSubmission]>([])
        let commands = Mutex<[TaskCommand]>([])
        let id: TaskID

        init() {
            var generator = SystemRandomNumberGenerator()
            self.id = TaskID(at: WallTime(microseconds: 1), using: &generator)
        }

        func submit(_ submission: TaskSubmission) async throws(ControlRefusal) -> SubmitResponse {
            if submission.name == "full" { throw ControlRefusal(.diskFull, "the disk is full") }
            self.submitted.withLock { $0.append(submission) }
            return SubmitResponse(id: self.id, isNew: submission.key != "known")
        }

        func tasks() async throws(ControlRefusal) -> [JSONValue] { [self.info.json] }

        func task(_ id: TaskID) async throws(ControlRefusal) -> JSONValue {
            guard id == self.id else { throw ControlRefusal(.unknown, "there is no task \(id)") }
            return self.info.json
        }

        func command(_ command: TaskCommand, _ id: TaskID) async throws(ControlRefusal) -> JSONValue {
            self.commands.withLock { $0.append(command) }
            return try await self.task(id)
        }

        private var info: TaskInfo {
            TaskInfo(
                id: self.id, kind: .data, method: "GET", url: "http://a/", state: .suspended,
                progress: TransferProgress(), created: WallTime(microseconds: 1))
        }
    }

    /// A server at a socket of its own.
    private struct Rig {
        let desk = Desk()
        let bus = EventBus(time: SystemClock())
        let path = "/tmp/tidegate-control-\(UUID().uuidString.prefix(8))/control.sock"

        var client: ControlClient { ControlClient(socket: self.path) }

        func serving(_ work: (Rig) async throws -> Void) async throws {
            let server = ControlServer(path: self.path, control: self.desk, bus: self.bus, time: SystemClock())
            let run = Task { try await server.run() }
            let isThere = await eventually {
                var status = stat()
                return stat(self.path, &status) == 0 && status.st_mode & 0o777 == 0o660
            }
            #expect(isThere)
            do {
                try await work(self)
            } catch {
                Issue.record(error)
            }
            run.cancel()
            _ = try? await run.value
            let hasGone = !FileManager.default.fileExists(atPath: self.path)
            #expect(hasGone)
            try? FileManager.default.removeItem(atPath: String(self.path.dropLast("/control.sock".count)))
        }
    }

    @Test("Tasks are submitted, listed, shown and steered over the socket")
    func main() async throws {
        try await Rig().serving { rig in
            var submission = TaskSubmission(url: "http://a/")
            submission.headers = ["A: b"]
            let made = try await rig.client.submit(submission)
            #expect(made.value == SubmittedTask(id: rig.desk.id.description, new: true))
            #expect(rig.desk.submitted.withLock { $0 } == [submission])
            submission.key = "known"
            #expect(try await rig.client.submit(submission).value.new == false)
            #expect(try await rig.client.tasks().value.map(\.id) == [rig.desk.id.description])
            #expect(try await rig.client.task(rig.desk.id.description).value.state == "suspended")
            for command in TaskCommand.allCases {
                _ = try await rig.client.command(command, rig.desk.id.description)
            }
            #expect(rig.desk.commands.withLock { $0 } == TaskCommand.allCases)
        }
    }

    @Test("What is refused is refused with a sentence and the right status")
    func refusals() async throws {
        try await Rig().serving { rig in
            let other = "00000000-0000-7000-8000-000000000000"
            await #expect(
                throws: ControlFailure(.refused(status: 404), "there is no task \(other)")
            ) { try await rig.client.task(other) }
            await #expect(throws: ControlFailure(.refused(status: 404), "there is no task \"x\"")) {
                try await rig.client.task("x")
            }
            var full = TaskSubmission(url: "http://a/")
            full.name = "full"
            await #expect(throws: ControlFailure(.refused(status: 507), "the disk is full")) {
                try await rig.client.submit(full)
            }
        }
    }

    @Test("Watchers get the tasks as they are, then every event, until the daemon stops")
    func watch() async throws {
        try await Rig().serving { rig in
            let lines = Lines()
            let client = rig.client
            let watching = Task { try await client.watch { lines.add($0) } }
            #expect(await eventually { lines.all.count == 1 })
            rig.bus.publish(.task(TaskEvent(id: rig.desk.id, taskKind: .data, kind: .resumed)))
            #expect(await eventually { lines.all.count == 2 })
            rig.bus.publish(.daemon(.stopping))
            try await watching.value
            #expect(lines.all.first?.hasPrefix(#"{"schema":1,"event":"snapshot","tasks":[{"#) == true)
            #expect(lines.all.last?.hasPrefix(#"{"schema":1,"event":"task.resumed","seq":1,"#) == true)
        }
    }

    private final class Lines: Sendable {
        private let lines = Mutex<[String]>([])
        func add(_ line: String) { self.lines.withLock { $0.append(line) } }
        var all: [String] { self.lines.withLock { $0 } }
    }

    @Test("Where no daemon is, the client says so")
    func nobody() async throws {
        await #expect(
            throws: ControlFailure(.noDaemon, "no daemon answers at the control socket /tmp/none.sock")
        ) { try await ControlClient(socket: "/tmp/none.sock").tasks() }
    }

    @Test("A live socket is refused, one that nobody listens at is taken over, anything else is left alone")
    func sockets() async throws {
        try await Rig().serving { rig in
            let second = ControlServer(path: rig.path, control: rig.desk, bus: rig.bus, time: SystemClock())
            let error = await #expect(throws: ControlError.self) { try await second.run() }
            #expect(error?.description == "another daemon answers at the control socket \(rig.path)")
        }
        let rig = Rig()
        let directory = String(rig.path.dropLast("/control.sock".count))
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: rig.path.utf8) }
        let bound = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        #expect(bound == 0)
        close(descriptor)
        try await rig.serving { _ = try await $0.client.tasks() }

        let file = "/tmp/tidegate-control-file-\(UUID().uuidString)"
        try Data("mine".utf8).write(to: URL(fileURLWithPath: file))
        defer { try? FileManager.default.removeItem(atPath: file) }
        let server = ControlServer(path: file, control: rig.desk, bus: rig.bus, time: SystemClock())
        let error = await #expect(throws: ControlError.self) { try await server.run() }
        #expect(error?.description == "\(file) is there already and is no socket")
        #expect(FileManager.default.contents(atPath: file) == Data("mine".utf8))
    }

    @Test("Root, the daemon's own user and members of the socket's group are let in, and nobody else")
    func peers() {
        let check = PeerVerification(ownUser: 1000, path: "/nonexistent")
        #expect(check.admits(.init(user: 0, groups: [0]), group: 7))
        #expect(check.admits(.init(user: 1000, groups: [5]), group: 7))
        #expect(check.admits(.init(user: 1001, groups: [5, 7]), group: 7))
        #expect(!check.admits(.init(user: 1001, groups: [5]), group: 7))
        #expect(!check.admits(.init(user: 1001, groups: [5])))
    }

    @Test(
        "A malformed submission is answered with what is wrong",
        arguments: [
            ("", "the submission is no JSON object"), ("[]", "the submission is no JSON object"),
            ("{}", "the submission has no member \"url\""), ("{\"url\":1}", "the member \"url\" has a wrong type"),
            ("{\"url\":\"http://a/\",\"hedaers\":[]}", "a submission has no member \"hedaers\""),
            ("{\"url\":\"http://a/\",\"headers\":[1]}", "the member \"headers."),
            ("{\"url\":\"http://a/\",\"retries\":1.5}", "a member of the submission has a value that cannot be used"),
        ])
    func malformed(_ body: String, _ sentence: String) async throws {
        let router = ControlRouter(control: Desk())
        let answer = await router.answer("POST", "/api/v1/tasks", body: Array(body.utf8))
        #expect(answer.status == 400)
        guard case .object(let object) = answer.body else { return }
        let text = object.description.replacing("\\\"", with: "\"")
        #expect(text.hasPrefix("{\"schema\":1,\"error\":\"\(sentence)"), "\(text)")
    }

    @Test("Paths and methods that there are not are told apart")
    func routes() async {
        let router = ControlRouter(control: Desk())
        for (method, path, status) in [
            ("GET", "/", 404), ("GET", "/api/v1/other", 404), ("DELETE", "/api/v1/tasks", 405),
            ("POST", "/api/v1/events", 405), ("GET", "/api/v1/tasks/x/cancel", 405),
            ("POST", "/api/v1/tasks/x/eat", 404),
            ("POST", "/api/v1/tasks/x/cancel", 404), ("GET", "/api/v1/tasks?x", 200),
        ] {
            #expect(await router.answer(method, path, body: []).status == status, "\(method) \(path)")
        }
    }
}
