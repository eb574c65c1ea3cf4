import Foundation
import Glibc
import Testing
import TidegateServer

/// A daemon that closes the connection during an exchange.
@Suite(.timeLimit(.minutes(5)))
struct DisconnectTests {
    /// A Unix socket that accepts one client, writes a text and closes the connection.
    private final class ClosingServer {
        let path = "/tmp/tidegate-closing-\(UUID().uuidString.prefix(8))"
        private let listener: Int32

        init(writing text: String) throws {
            let listener = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
            self.listener = listener
            var address = sockaddr_un()
            address.sun_family = sa_family_t(AF_UNIX)
            withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array(self.path.utf8)) }
            let size = socklen_t(MemoryLayout<sockaddr_un>.size)
            let isBound = withUnsafePointer(to: &address) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(listener, $0, size) } == 0
            }
            try #require(isBound && listen(listener, 1) == 0)
            Thread.detachNewThread {
                let client = accept(listener, nil, nil)
                var bytes = [UInt8](repeating: 0, count: 4096)
                _ = read(client, &bytes, bytes.count)
                _ = write(client, text, text.utf8.count)
                close(client)
            }
        }

        deinit {
            close(self.listener)
            unlink(self.path)
        }
    }

    @Test(
        "A connection that is closed before the response ends is reported as that",
        arguments: ["", "HTTP/1.1 200 OK\r\nContent-Le", "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"tasks\":"])
    func closed(_ text: String) async throws {
        let server = try ClosingServer(writing: text)
        let client = ControlClient(socket: server.path)
        let error = await #expect(throws: ControlClientError.self) { try await client.tasks() }
        #expect(error?.reason == .disconnected, "\(String(describing: error))")
        #expect(
            error?.description
                == "the daemon on the control socket \(server.path) closed the connection before it responded")
    }

    @Test("A response that comes as soon as the daemon has seen the head is taken, even if it closes at once")
    func early() async throws {
        let body = #"{"schema":1,"tasks":[],"next":null,"total":0}"#
        let response = "HTTP/1.1 200 OK\r\nContent-Length: \(body.utf8.count)\r\nConnection: close\r\n\r\n\(body)"
        for _ in 0..<300 {
            let server = try ClosingServer(writing: response)
            #expect(try await ControlClient(socket: server.path).tasks().isEmpty, "\(server.path)")
        }
    }
}
