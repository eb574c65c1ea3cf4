import Foundation
import Glibc
import Testing
import TidegateServer

/// A daemon that goes away while it is spoken to.
@Suite(.timeLimit(.minutes(1)))
struct HangUpTests {
    /// A Unix socket at which one caller is heard, answered with some text, and left.
    private final class Rude {
        let path = "/tmp/tidegate-rude-\(UUID().uuidString.prefix(8))"
        private let listener: Int32

        init(saying text: String) throws {
            let listener = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
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
                let caller = accept(listener, nil, nil)
                var bytes = [UInt8](repeating: 0, count: 4096)
                _ = read(caller, &bytes, bytes.count)
                _ = write(caller, text, text.utf8.count)
                close(caller)
            }
        }

        deinit {
            close(self.listener)
            unlink(self.path)
        }
    }

    @Test(
        "A daemon that hangs up before it has answered is told as one that did",
        arguments: ["", "HTTP/1.1 200 OK\r\nContent-Le", "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"tasks\":"])
    func hangsUp(_ text: String) async throws {
        let rude = try Rude(saying: text)
        let client = ControlClient(socket: rude.path)
        let failure = await #expect(throws: ControlFailure.self) { try await client.tasks() }
        #expect(failure?.reason == .hungUp, "\(String(describing: failure))")
        #expect(
            failure?.description == "the daemon at the control socket \(rude.path) hung up before it had answered")
    }
}
