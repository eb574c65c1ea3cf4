import Foundation
import Glibc
import Synchronization
import Testing
import TidegateCore
import TidegateTestKit

@testable import TidegateNetwork

@Suite(.timeLimit(.minutes(5)))
struct TCPConnectorTests {
    private static let loopback = IPAddress(ipv4: 0x7F00_0001)

    private static func request(
        _ server: ListeningSocket, within limit: Duration = .seconds(300)
    ) -> SocketRequest {
        SocketRequest(to: Self.loopback, port: server.port, within: limit)
    }

    private static func failure(_ request: SocketRequest) async -> TCPConnector.Failure? {
        do throws(TCPConnector.Failure) {
            _ = try await TCPConnector().connect(request)
            return nil
        } catch {
            return error
        }
    }

    // Read to its end, however long it is: Foundation asks for the size first, which is 0.
    private static func text(of path: String) -> String {
        guard let file = fopen(path, "r") else { return "" }
        defer { fclose(file) }
        var (text, chunk): ([UInt8], [UInt8]) = ([], [UInt8](repeating: 0, count: 65536))
        while case let count = fread(&chunk, 1, chunk.count, file), count > 0 { text += chunk.prefix(count) }
        return String(decoding: text, as: UTF8.self)
    }

    @Test("A connection stands, is known as the program's own, and is closed with its value")
    func connected() async throws {
        let server = try ListeningSocket(backlog: 8)
        let own = OwnSockets()
        let descriptor = try await TCPConnector().connect(Self.request(server), noting: own).release()
        #expect(own.contains(try Self.cookie(of: descriptor)))
        close(descriptor)
        do { _ = try await TCPConnector().connect(Self.request(server)) }
        _ = try server.accepted()
        let second = try server.accepted()
        var byte: UInt8 = 0
        // The end of the stream, for which this waits.
        #expect(recv(second.descriptor, &byte, 1, 0) == 0)
    }

    @Test("A server's refusal is not this host's")
    func refused() async throws {
        let port = UInt16(try FreePort.find())
        let request = SocketRequest(to: Self.loopback, port: port, within: .seconds(60))
        #expect(await Self.failure(request) == .failed(code: ECONNREFUSED, isImmediate: false))
    }

    @Test("What this host refuses, it refuses at once")
    func immediate() async throws {
        let server = try ListeningSocket(backlog: 8)
        var request = Self.request(server)
        // TEST-NET-1, which no host has.
        request.source = IPAddress("192.0.2.1")
        #expect(await Self.failure(request) == .failed(code: EADDRNOTAVAIL, isImmediate: true))
        request = Self.request(server)
        request.interface = "no-such-link"
        #expect(await Self.failure(request) == .noInterface("no-such-link"))
    }

    @Test("A server without room is waited for until it has room")
    func waiting() async throws {
        let server = try ListeningSocket(backlog: 0)
        let fillers = try server.filled()
        let socket = try ConnectExchange(Self.request(server), noting: nil)
        let isConnecting = socket.result == nil
        // It would take the room.
        _ = socket.outcome(of: nil)
        try #require(isConnecting)
        // The kernel asks again after pauses that double.
        let request = Self.request(server, within: .seconds(3600))
        async let connection = TCPConnector().connect(request).release()
        // A connection that is asked for is in the state SYN_SENT (proc_net(5)).
        let port = String(server.port, radix: 16, uppercase: true)
        let row = ":" + String(repeating: "0", count: 4 - port.count) + port + " 02 "
        let isAsked = await eventually {
            Self.text(of: "/proc/net/tcp").contains(row)
        }
        #expect(isAsked)
        for _ in fillers { _ = try server.accepted() }
        #expect(close(try await connection) == 0)
    }

    @Test("A server without room is waited for no longer than the request says")
    func silent() async throws {
        let server = try ListeningSocket(backlog: 0)
        let fillers = try server.filled()
        #expect(await Self.failure(Self.request(server, within: .milliseconds(300))) == .timedOut)
        #expect(!fillers.isEmpty)
    }

    @Test("A connector that stops ends what it waits for")
    func stopped() async throws {
        let (server, connector) = (try ListeningSocket(backlog: 0), TCPConnector())
        let fillers = try server.filled()
        let result = Mutex<TCPConnector.Failure?>(nil)
        let request = Self.request(server, within: .seconds(3600))
        async let attempt: Void = {
            do throws(TCPConnector.Failure) { _ = try await connector.connect(request) } catch {
                result.withLock { $0 = error }
            }
        }()
        // Until it has begun there is nothing to stop.
        let isStopped = await eventually {
            connector.stop()
            return result.withLock { $0 } == .timedOut
        }
        #expect(isStopped)
        #expect(!fillers.isEmpty)
        await attempt
    }

    // SO_COOKIE (socket(7)), which Glibc does not name.
    private static func cookie(of descriptor: Int32) throws -> UInt64 {
        var cookie: UInt64 = 0
        var size = socklen_t(MemoryLayout<UInt64>.size)
        try #require(getsockopt(descriptor, SOL_SOCKET, 57, &cookie, &size) == 0)
        return cookie
    }
}
