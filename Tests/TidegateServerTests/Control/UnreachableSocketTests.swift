import Foundation
import Glibc
import Testing
import TidegateTestKit

@testable import TidegateServer

/// Sockets on which no daemon can be reached.
@Suite(.timeLimit(.minutes(5)))
struct UnreachableSocketTests {
    private func error(_ socket: String) async -> ControlClientError? {
        await #expect(throws: ControlClientError.self) { try await ControlClient(socket: socket).tasks() }
    }

    @Test("A path that is not a socket, has no directory or is too long is reported as that")
    func paths() async throws {
        let file = "/tmp/tidegate-no-socket-\(UUID().uuidString.prefix(8))"
        try Data().write(to: URL(fileURLWithPath: file))
        defer { unlink(file) }
        let notSocket = ControlClientError(.noDaemon, "\(file) is not a socket")
        #expect(await self.error(file) == notSocket)
        let below = ControlClientError(
            .noDaemon, "no daemon is listening on the control socket \(file)/x; start one with \"tidegate serve\"")
        #expect(await self.error("\(file)/x") == below)
        let long = "/\(String(repeating: "a", count: 200))"
        let tooLong = ControlClientError(
            .noDaemon, "the path of the control socket \(long) is longer than 107 bytes")
        #expect(await self.error(long) == tooLong)
    }

    @Test("A full listen queue is retried, then reported as busy")
    func busy() async throws {
        let path = "/tmp/tidegate-busy-\(UUID().uuidString.prefix(8))"
        let listener = try Self.listen(at: path)
        defer { unlink(path) }
        let first = try #require(Self.connect(to: path), "the queue has room for one")
        #expect(Self.connect(to: path) == nil)
        let client = ControlClient(socket: path, timeout: .milliseconds(200))
        let error = await #expect(throws: ControlClientError.self) { try await client.tasks() }
        #expect(
            error
                == ControlClientError(
                    .noDaemon, "the daemon on the control socket \(path) is too busy to accept a connection"))
        close(first)
        close(listener)
    }

    @Test(
        "Another user's socket is sent nothing, unless that user is trusted", .enabled(if: geteuid() == 0, "needs root")
    )
    func foreign() async throws {
        let path = "/tmp/tidegate-foreign-\(UUID().uuidString.prefix(8))"
        defer { unlink(path) }
        let listener = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue), 0)
        // Who calls listen(2) is who the other end takes for its peer (unix(7)).
        try Stranger.run {
            _ = Self.with(path) { bind(listener, $0, $1) }
            _ = Glibc.listen(listener, 8)
        }
        defer { close(listener) }
        #expect(
            await self.error(path)
                == ControlClientError(
                    .notAllowed,
                    "the control socket \(path) is another user's (uid 65534), and was sent nothing; "
                        + "--control.user 65534 trusts it"))
        let first = accept(listener, nil, nil)
        var byte: UInt8 = 0
        #expect(recv(first, &byte, 1, 0) == 0)
        close(first)
        let trusting = Task { try? await ControlClient(socket: path, trusting: 65_534).tasks() }
        var second: Int32 = -1
        #expect(
            await eventually {
                second = accept(listener, nil, nil)
                return second >= 0
            })
        #expect(await eventually { recv(second, &byte, 1, Int32(MSG_DONTWAIT)) == 1 })
        close(second)
        _ = await trusting.value
    }

    private static func listen(at path: String) throws -> Int32 {
        let listener = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        #expect(self.with(path) { bind(listener, $0, $1) } == 0 && Glibc.listen(listener, 0) == 0)
        return listener
    }

    private static func connect(to path: String) -> Int32? {
        let caller = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue), 0)
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
