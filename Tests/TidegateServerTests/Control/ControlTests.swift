import Foundation
import Glibc
import HTTPTypes
import Hummingbird
import HummingbirdCore
import NIOCore
import NIOEmbedded
import Synchronization
import Testing
import TidegateCore
import TidegateLoop
import TidegateTestKit

@testable import TidegateServer

@Suite(.timeLimit(.minutes(5)))
struct ControlTests {
    @Test("Tasks are submitted, listed, shown and controlled over the socket")
    func main() async throws {
        try await ControlFixture().serving { fixture in
            var submission = TaskSubmission(url: "http://a/")
            submission.headers = ["A: b"]
            let submitted = try await fixture.client.submit(submission)
            #expect(submitted.value == SubmitDocument(SubmitResponse(id: fixture.control.id, isNew: true)))
            #expect(fixture.control.submitted.withLock { $0 } == [submission])
            submission.key = "known"
            #expect(try await fixture.client.submit(submission).value.new == false)
            #expect(try await fixture.client.tasks().map(\.id) == [fixture.control.id.description])
            #expect(try await fixture.client.task(fixture.control.id.description).value.state == "suspended")
            for command in ControlCommand.allCases {
                _ = try await fixture.client.command(command, fixture.control.id.description)
            }
            #expect(fixture.control.commands.withLock { $0 } == ControlCommand.allCases)
        }
    }

    @Test("A refusal has a sentence and a status")
    func refusals() async throws {
        try await ControlFixture().serving { fixture in
            let other = "00000000-0000-7000-8000-000000000000"
            await #expect(
                throws: ControlClientError(.refused(status: 404), "there is no task \(other)")
            ) { try await fixture.client.task(other) }
            await #expect(throws: ControlClientError(.refused(status: 404), "there is no task \"x\"")) {
                try await fixture.client.task("x")
            }
            var full = TaskSubmission(url: "http://a/")
            full.name = "full"
            await #expect(throws: ControlClientError(.refused(status: 507), "the disk is full")) {
                try await fixture.client.submit(full)
            }
        }
    }

    @Test("Watchers get the tasks as they are, then every event, until the daemon stops")
    func watch() async throws {
        try await ControlFixture().serving { fixture in
            let lines = Lines()
            let client = fixture.client
            let watching = Task { try await client.watch { lines.add($0) } }
            #expect(await eventually { lines.all.count == 1 })
            fixture.bus.publish(.task(TaskEvent(id: fixture.control.id, taskKind: .data, kind: .resumed)))
            #expect(await eventually { lines.all.count == 2 })
            fixture.bus.publish(.daemon(.stopping))
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

    @Test("Without a daemon the client says so")
    func noDaemon() async throws {
        await #expect(
            throws: ControlClientError(
                .noDaemon,
                "no daemon is listening on the control socket /tmp/none.sock; start one with \"tidegate serve\"")
        ) { try await ControlClient(socket: "/tmp/none.sock").tasks() }
    }

    @Test("A socket in use is refused, a stale one is replaced, and any other file is left alone")
    func sockets() async throws {
        try await ControlFixture().serving { fixture in
            let second = ControlServer(
                path: fixture.path, control: fixture.control, bus: fixture.bus, time: SystemClock())
            let error = await #expect(throws: TextError.self) { try await second.run() }
            #expect(error?.description == "another daemon listens on the control socket \(fixture.path)")
        }
        let fixture = ControlFixture()
        let directory = String(fixture.path.dropLast("/control.sock".count))
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: fixture.path.utf8) }
        let bound = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        #expect(bound == 0)
        close(descriptor)
        try await fixture.serving { _ = try await $0.client.tasks() }

        let file = "/tmp/tidegate-control-file-\(UUID().uuidString)"
        try Data("mine".utf8).write(to: URL(fileURLWithPath: file))
        defer { try? FileManager.default.removeItem(atPath: file) }
        let server = ControlServer(path: file, control: fixture.control, bus: fixture.bus, time: SystemClock())
        let error = await #expect(throws: TextError.self) { try await server.run() }
        #expect(error?.description == "\(file) exists and is not a socket")
        #expect(FileManager.default.contents(atPath: file) == Data("mine".utf8))
    }

    @Test("Only root, the daemon's own user and members of the socket's group may connect")
    func peers() {
        let verification = PeerVerification(ownUser: 1000, path: "/nonexistent")
        #expect(verification.allows(.init(user: 0, groups: [0]), group: 7))
        #expect(verification.allows(.init(user: 1000, groups: [5]), group: 7))
        #expect(verification.allows(.init(user: 1001, groups: [5, 7]), group: 7))
        #expect(!verification.allows(.init(user: 1001, groups: [5]), group: 7))
        #expect(!verification.allows(.init(user: 1001, groups: [5])))
    }

    /// What the routes respond, without a socket.
    private func respond(_ method: String, _ path: String, body: String = "") async throws -> RoutedResponse {
        let head = HTTPRequest(
            method: try #require(HTTPRequest.Method(method)), scheme: nil, authority: nil, path: path)
        let request = Request(head: head, body: RequestBody(buffer: ByteBuffer(string: body)))
        let responder = ControlRoutes(control: FakeControl(), bus: EventBus(time: SystemClock())).responder()
        let context = ServerContext(source: .init(channel: NIOAsyncTestingChannel(), inFlight: 1))
        return try await RoutedResponse(try await responder.respond(to: request, context: context))
    }

    @Test("The users of the socket can read what is observed of other programs' connections")
    func connections() async throws {
        let path = "/tmp/tidegate-control-\(UUID().uuidString.prefix(8))/control.sock"
        let server = ControlServer(
            path: path, control: FakeControl(), bus: EventBus(time: SystemClock()), time: SystemClock(),
            connections: { ConnectionSamples.report })
        let run = Task { try await server.run() }
        defer { run.cancel() }
        let client = ControlClient(socket: path)
        #expect(await eventually { (try? await client.connections()) != nil })
        #expect(try await client.connections() == ConnectionSamples.report)
        run.cancel()
        _ = try? await run.value
    }

    @Test("The configured targets and the latest diagnosis are told to who may use the socket")
    func report() async throws {
        let path = "/tmp/tidegate-control-\(UUID().uuidString.prefix(8))/control.sock"
        let target: JSONValue = ["name": "api", "target": "api:443", "level": "online", "reached": true]
        let diagnosis: JSONValue = ["firstFailure": "dns", "cause": "resolverSilent", "since": .null]
        let report: JSONValue = ["schema": 1, "targets": .array([target]), "diagnosis": diagnosis]
        let server = ControlServer(
            path: path, control: FakeControl(), bus: EventBus(time: SystemClock()), time: SystemClock()
        ) { report }
        let run = Task { try await server.run() }
        defer { run.cancel() }
        let client = ControlClient(socket: path)
        #expect(await eventually { (try? await client.report()) != nil })
        let known = try await client.report()
        #expect(known.targets == [.init(name: "api", target: "api:443", level: "online", reached: true)])
        #expect(known.diagnosis == .init(firstFailure: "dns", cause: "resolverSilent", since: nil))
        run.cancel()
        _ = try? await run.value
    }

    @Test(
        "A malformed submission gets 400 with what is wrong",
        arguments: [
            ("", "request body must be a JSON object"), ("[]", "request body must be a JSON object"),
            ("{}", "missing member \"url\""), ("{\"url\":1}", "member \"url\" has the wrong type"),
            ("{\"url\":\"http://a/\",\"hedaers\":[]}", "unknown member \"hedaers\""),
            ("{\"url\":\"http://a/\",\"headers\":[1]}", "member \"headers."),
            ("{\"url\":\"http://a/\",\"retries\":1.5}", "a member has an invalid value"),
        ])
    func malformed(_ body: String, _ message: String) async throws {
        let response = try await self.respond("POST", "/api/v1/tasks", body: body)
        #expect(response.status == 400)
        #expect(response.headers[.contentType] == "application/json; charset=utf-8")
        let text = response.text.replacing("\\\"", with: "\"")
        #expect(text.hasPrefix("{\"schema\":1,\"error\":\"\(message)"), "\(text)")
    }

    @Test("A submission that is too large gets 413")
    func tooLarge() async throws {
        let body = String(repeating: " ", count: ControlRoutes.bodyLimit + 1)
        let response = try await self.respond("POST", "/api/v1/tasks", body: body)
        #expect(response.status == 413)
        #expect(response.text.contains("larger than 25165824 bytes"))
    }

    @Test("An unknown path gets 404, a known one with another method 405 with Allow")
    func routes() async throws {
        for (method, path, status, allow) in [
            ("GET", "/", 404, nil), ("GET", "/api/v1/other", 404, nil), ("DELETE", "/api/v1/tasks", 405, "GET, POST"),
            ("POST", "/api/v1/events", 405, "GET"), ("GET", "/api/v1/tasks/x/cancel", 405, "POST"),
            ("HEAD", "/api/v1/tasks", 405, "GET, POST"), ("POST", "/api/v1/tasks/x", 405, "GET"),
            ("POST", "/api/v1/tasks/x/eat", 404, nil), ("POST", "/api/v1/tasks/x/cancel", 404, nil),
            ("GET", "/api/v1/tasks/", 404, nil), ("GET", "/api/v1/tasks?x", 200, nil),
        ] {
            let response = try await self.respond(method, path)
            #expect(response.status == status, "\(method) \(path)")
            #expect(response.headers[.allow] == allow, "\(method) \(path)")
        }
    }
}
