import Foundation
import Glibc
import Testing

@testable import TidegateServer

/// Sockets at which nobody can be asked.
@Suite(.timeLimit(.minutes(1)))
struct UnreachableReasonTests {
    private func failure(_ socket: String) async -> ControlFailure? {
        await #expect(throws: ControlFailure.self) { try await ControlClient(socket: socket).tasks() }
    }

    @Test("What is no socket, in no folder or too long is told as that")
    func places() async throws {
        let file = "/tmp/tidegate-no-socket-\(UUID().uuidString.prefix(8))"
        try Data().write(to: URL(fileURLWithPath: file))
        defer { unlink(file) }
        let none = ControlFailure(.noDaemon, "\(file) is no socket")
        #expect(await self.failure(file) == none)
        let below = ControlFailure(.noDaemon, "no daemon answers at the control socket \(file)/x")
        #expect(await self.failure("\(file)/x") == below)
        let long = "/\(String(repeating: "a", count: 200))"
        let tooLong = ControlFailure(
            .noDaemon, "the path of the control socket \(long) is longer than the 107 bytes it may have")
        #expect(await self.failure(long) == tooLong)
    }

    @Test("A daemon that takes no more connections is asked again, and called busy in the end")
    func busy() async throws {
        let path = "/tmp/tidegate-busy-\(UUID().uuidString.prefix(8))"
        let listener = try Self.listen(at: path)
        defer { unlink(path) }
        let first = try #require(Self.connect(to: path), "the queue has room for one")
        #expect(Self.connect(to: path) == nil)
        let client = ControlClient(socket: path, patience: .milliseconds(200))
        let failure = await #expect(throws: ControlFailure.self) { try await client.tasks() }
        #expect(failure == ControlFailure(.noDaemon, "the daemon at the control socket \(path) is too busy to answer"))
        close(first)
        close(listener)
    }

    private static func listen(at path: String) throws -> Int32 {
        let listener = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        #expect(self.with(path) { bind(listener, $0, $1) } == 0 && Glibc.listen(listener, 0) == 0)
        return listener
    }

    private static func connect(to path: String) -> Int32? {
        let caller = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue), 0)
        if self.with(path, { Glibc.connect(caller, $0, $1) }) == 0 { return caller }
        close(caller)
        return nil
    }

    private static func with(_ path: String, _ use: (UnsafePointer<sockaddr>, socklen_t) -> Int32) -> Int32 {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array(path.utf8)) }
        return withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                use($0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
    }
}
