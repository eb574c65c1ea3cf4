import Foundation
import Glibc
import Synchronization
import Testing
import TidegateCore
import TidegateLoop
import TidegateTestKit

@testable import TidegateServer

@Suite(.timeLimit(.minutes(5)), .serialized)
struct ServerStopTests {
    /// Answers nothing until it is let go.
    private final class SlowDesk: TaskControl {
        let isSlow: Bool
        let asked = Atomic<Int>(0)
        private let waiting = Mutex<[CheckedContinuation<Void, Never>]>([])

        init(isSlow: Bool = false) { self.isSlow = isSlow }

        func tasks() async throws(ControlRefusal) -> [JSONValue] {
            self.asked.wrappingAdd(1, ordering: .relaxed)
            if self.isSlow { await withCheckedContinuation { one in self.waiting.withLock { $0.append(one) } } }
            return []
        }

        func letGo() { for one in self.waiting.withLock({ $0 }) { one.resume() } }

        func submit(_ submission: TaskSubmission) async throws(ControlRefusal) -> SubmitResponse { throw self.refusal }
        func task(_ id: TaskID) async throws(ControlRefusal) -> JSONValue { throw self.refusal }
        func command(_ command: TaskCommand, _ id: TaskID) async throws(ControlRefusal) -> JSONValue {
            throw self.refusal
        }
        private var refusal: ControlRefusal { ControlRefusal(.unknown, "nothing") }
    }

    private final class Flag: Sendable {
        private let value = Atomic<Bool>(false)
        var isRaised: Bool { self.value.load(ordering: .acquiring) }
        func raise() { self.value.store(true, ordering: .releasing) }
    }

    private final class Place {
        let directory = "/tmp/tidegate-stop-\(UUID().uuidString.prefix(8))"
        var path: String { "\(self.directory)/control.sock" }
        var isThere: Bool { access(self.path, F_OK) == 0 }
        deinit { try? FileManager.default.removeItem(atPath: self.directory) }

        func start(_ desk: SlowDesk, _ bus: EventBus = EventBus(time: SystemClock())) async -> Task<Void, any Error> {
            let server = ControlServer(path: self.path, control: desk, bus: bus, time: SystemClock())
            let path = self.path
            let isUp = Flag()
            let run = Task { try await server.run { isUp.raise() } }
            #expect(await eventually { isUp.isRaised }, "\(path)")
            return run
        }
    }

    @Test("A server that is cancelled while connections come takes the process with it never")
    func cancelled() async throws {
        for round in 0..<8 {
            let (place, desk) = (Place(), SlowDesk())
            let run = await place.start(desk)
            let path = place.path
            let isOver = Flag()
            await withTaskGroup(of: Void.self) { group in
                for _ in 0..<6 {
                    group.addTask {
                        while !isOver.isRaised {
                            ServerStopTests.connectAndLeave(path)
                            // A thread of the pool is not kept from the server.
                            try? await Task.sleep(for: .microseconds(200))
                        }
                    }
                }
                try? await Task.sleep(for: .milliseconds(20 + round))
                run.cancel()
                _ = await run.result
                isOver.raise()
            }
            #expect(!place.isThere)
        }
    }

    @Test("An answer that never comes does not keep a server")
    func slow() async throws {
        let (place, desk) = (Place(), SlowDesk(isSlow: true))
        let run = await place.start(desk)
        let path = place.path
        let client = Task { try await ControlClient(socket: path).tasks() }
        #expect(await eventually { desk.asked.load(ordering: .relaxed) == 1 })
        run.cancel()
        _ = await run.result
        #expect(!place.isThere)
        desk.letGo()
        _ = await client.result
    }

    @Test("A socket that another daemon has put there meanwhile is left to it")
    func taken() async throws {
        let place = Place()
        let desk = SlowDesk(isSlow: true)
        let run = await place.start(desk)
        let path = place.path
        let client = Task { try await ControlClient(socket: path).tasks() }
        #expect(await eventually { desk.asked.load(ordering: .relaxed) == 1 })
        run.cancel()
        // The listener is closed, an answer is under way.
        #expect(await eventually { !place.isThere })
        let other = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(other) }
        #expect(ServerStopTests.with(place.path) { bind(other, $0, $1) } == 0)
        _ = await run.result
        #expect(place.isThere)
        desk.letGo()
        _ = await client.result
    }

    @Test("Watchers that go leave nothing behind")
    func gone() async throws {
        let place = Place()
        let run = await place.start(SlowDesk())
        for _ in 0..<20 {
            let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
            #expect(ServerStopTests.with(place.path) { connect(descriptor, $0, $1) } == 0)
            let request = Array("GET /api/v1/events HTTP/1.1\r\nHost: a\r\n\r\n".utf8)
            #expect(write(descriptor, request, request.count) == request.count)
            var answer = [UInt8](repeating: 0, count: 512)
            #expect(read(descriptor, &answer, answer.count) > 0)
            close(descriptor)
        }
        // The listener stays, and nothing of what it accepted.
        #expect(await eventually { ServerStopTests.sockets(at: place.path) == 1 })
        run.cancel()
        _ = await run.result
    }

    // An accepted socket has its listener's name (proc(5)).
    private static func sockets(at path: String) -> Int {
        let table = (try? String(contentsOfFile: "/proc/net/unix", encoding: .utf8)) ?? ""
        return table.split(separator: "\n").count { $0.hasSuffix(path) }
    }

    private static func connectAndLeave(_ path: String) {
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue), 0)
        defer { close(descriptor) }
        guard self.with(path, { connect(descriptor, $0, $1) }) == 0 else { return }
        let request = Array("GET /api/v1/tasks HTTP/1.1\r\nHost: a\r\n\r\n".utf8)
        _ = send(descriptor, request, request.count, Int32(MSG_NOSIGNAL))
    }

    private static func with(_ path: String, _ call: (UnsafePointer<sockaddr>, socklen_t) -> Int32) -> Int32 {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        return withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                call($0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
    }
}
