import Foundation
import Glibc
import Synchronization
import Testing
import TidegateLoop
import TidegateTestKit

@testable import TidegateCore
@testable import TidegateServer

@Suite(.timeLimit(.minutes(5)), .serialized)
struct ServerShutdownTests {
    /// Lists its tasks only after it is released.
    private final class SlowControl: TaskControl {
        let isSlow: Bool
        let calls = Atomic<Int>(0)
        private let waiting = Mutex<[CheckedContinuation<Void, Never>]>([])

        init(isSlow: Bool = false) { self.isSlow = isSlow }

        func tasks(after: TaskID?, atMost limit: Int) async throws(ControlRefusal) -> TaskSlice<TaskDocument> {
            self.calls.wrappingAdd(1, ordering: .relaxed)
            if self.isSlow { await withCheckedContinuation { one in self.waiting.withLock { $0.append(one) } } }
            return TaskSlice(tasks: [], next: nil, total: 0)
        }

        func release() { for one in self.waiting.withLock({ $0 }) { one.resume() } }

        func submit(
            _ submission: TaskSubmission, by caller: ControlCaller
        ) async throws(ControlRefusal) -> SubmitResponse { throw self.refusal }
        func task(_ id: TaskID) async throws(ControlRefusal) -> TaskDocument { throw self.refusal }
        func body(_ id: TaskID, for caller: ControlCaller) async throws(ControlRefusal) -> TaskBody {
            throw self.refusal
        }
        func export(_ id: TaskID, as format: ExportFormat, showingSecrets: Bool) async throws(ControlRefusal) -> String
        {
            throw self.refusal
        }
        func command(_ command: ControlCommand, _ id: TaskID) async throws(ControlRefusal) -> TaskDocument {
            throw self.refusal
        }
        private var refusal: ControlRefusal { ControlRefusal(.unknown, "nothing") }
    }

    private final class Flag: Sendable {
        private let value = Atomic<Bool>(false)
        var isSet: Bool { self.value.load(ordering: .acquiring) }
        func set() { self.value.store(true, ordering: .releasing) }
    }

    private final class SocketFixture {
        let directory = "/tmp/tidegate-stop-\(UUID().uuidString.prefix(8))"
        var path: String { "\(self.directory)/control.sock" }
        var exists: Bool { access(self.path, F_OK) == 0 }
        deinit { try? FileManager.default.removeItem(atPath: self.directory) }

        func start(_ control: SlowControl, _ bus: EventBus = EventBus(time: SystemClock())) async -> Task<
            Void, any Error
        > {
            let server = ControlServer(path: self.path, control: control, bus: bus, time: SystemClock())
            let path = self.path
            let isListening = Flag()
            let run = Task { try await server.run { isListening.set() } }
            #expect(await eventually { isListening.isSet }, "\(path)")
            return run
        }
    }

    @Test("Cancelling a server while clients connect never ends the process")
    func cancelled() async throws {
        for round in 0..<8 {
            let (fixture, control) = (SocketFixture(), SlowControl())
            let run = await fixture.start(control)
            let path = fixture.path
            let isOver = Flag()
            await withTaskGroup(of: Void.self) { group in
                for _ in 0..<6 {
                    group.addTask {
                        while !isOver.isSet {
                            ServerShutdownTests.connectAndClose(path)
                            // Leaves the thread to the server.
                            try? await Task.sleep(for: .microseconds(200))
                        }
                    }
                }
                try? await Task.sleep(for: .milliseconds(20 + round))
                run.cancel()
                _ = await run.result
                isOver.set()
            }
            #expect(!fixture.exists)
        }
    }

    @Test("A response that never comes does not keep a server from stopping")
    func slow() async throws {
        let (fixture, control) = (SocketFixture(), SlowControl(isSlow: true))
        let run = await fixture.start(control)
        let path = fixture.path
        let client = Task { try await ControlClient(socket: path).tasks() }
        #expect(await eventually { control.calls.load(ordering: .relaxed) == 1 })
        run.cancel()
        _ = await run.result
        #expect(!fixture.exists)
        control.release()
        _ = await client.result
    }

    @Test("A socket that another daemon has made meanwhile is not removed")
    func taken() async throws {
        let fixture = SocketFixture()
        let control = SlowControl(isSlow: true)
        let run = await fixture.start(control)
        let path = fixture.path
        let client = Task { try await ControlClient(socket: path).tasks() }
        #expect(await eventually { control.calls.load(ordering: .relaxed) == 1 })
        run.cancel()
        // The listener is closed, a response is under way.
        #expect(await eventually { !fixture.exists })
        let other = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        defer { close(other) }
        #expect(UnixSocketName.pass(fixture.path, to: { bind(other, $0, $1) }) == 0)
        _ = await run.result
        #expect(fixture.exists)
        control.release()
        _ = await client.result
    }

    // A program that another test starts meanwhile may inherit a connection and keep it open.
    @Test(
        "Connections of watchers that disconnect are closed",
        .enabled(if: QuietMachine.isAvailable, "needs a quiet machine"))
    func gone() async throws {
        let fixture = SocketFixture()
        let run = await fixture.start(SlowControl())
        for _ in 0..<20 {
            let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
            #expect(UnixSocketName.pass(fixture.path, to: { connect(descriptor, $0, $1) }) == 0)
            let request = Array("GET /api/v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n".utf8)
            #expect(write(descriptor, request, request.count) == request.count)
            var response = [UInt8](repeating: 0, count: 512)
            #expect(read(descriptor, &response, response.count) > 0)
            close(descriptor)
        }
        // Only the listener stays.
        #expect(await eventually { ServerShutdownTests.sockets(at: fixture.path) == 1 })
        run.cancel()
        _ = await run.result
    }

    // An accepted socket has its listener's path (proc(5)).
    private static func sockets(at path: String) -> Int {
        let table = (try? String(contentsOfFile: "/proc/net/unix", encoding: .utf8)) ?? ""
        return table.split(separator: "\n").count { $0.hasSuffix(path) }
    }

    private static func connectAndClose(_ path: String) {
        let descriptor = socket(
            AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue), 0)
        defer { close(descriptor) }
        guard UnixSocketName.pass(path, to: { connect(descriptor, $0, $1) }) == 0 else { return }
        let request = Array("GET /api/v1/tasks HTTP/1.1\r\nHost: localhost\r\n\r\n".utf8)
        _ = send(descriptor, request, request.count, Int32(MSG_NOSIGNAL))
    }
}
