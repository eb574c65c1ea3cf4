import Glibc
import TidegateCore

@testable import TidegateNetwork

/// A socket that listens on loopback and accepts only what a test asks it to.
final class ListeningSocket: Sendable {
    /// A system call failed (errno(3)).
    struct Failure: Error {
        let code: Int32
    }

    let descriptor: Int32
    let port: UInt16

    /// Listens on a port of the kernel's choice, with room for `backlog` connections and one more (listen(2)).
    init(backlog: Int32) throws {
        // SOCK_STREAM | SOCK_CLOEXEC, which are in no module if a header of another one was there first.
        self.descriptor = socket(AF_INET, 1 | O_CLOEXEC, 0)
        var name = sockaddr_in()
        name.sin_family = sa_family_t(AF_INET)
        name.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let descriptor = self.descriptor
        let result = withUnsafeMutablePointer(to: &name) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, length) == 0 && listen(descriptor, backlog) == 0
                    ? getsockname(descriptor, $0, &length) : -1
            }
        }
        self.port = UInt16(bigEndian: name.sin_port)
        guard result == 0 else { throw Failure(code: errno) }
    }

    deinit { close(self.descriptor) }

    /// The next connection, for which this waits.
    func accepted() throws -> Connection {
        let descriptor = accept(self.descriptor, nil, nil)
        guard descriptor >= 0 else { throw Failure(code: errno) }
        return Connection(descriptor: descriptor)
    }

    /// Connects until there is no more room; returns the connections that wait to be accepted, which last as long as
    /// the array.
    func filled() throws -> [Connection] {
        var fillers: [Connection] = []
        while try self.queue().waiting <= self.queue().room {
            let socket = try ConnectExchange(
                SocketRequest(to: IPAddress(ipv4: 0x7F00_0001), port: self.port, within: .zero), noting: nil)
            fillers.append(Connection(descriptor: socket.descriptor))
            // On a busy machine a handshake ends after connect(2) has returned.
            while try self.queue().waiting < fillers.count { sched_yield() }
        }
        return fillers
    }

    /// How many connections wait to be accepted, and how many more than one may (TCP_INFO of a listening socket).
    private func queue() throws -> (waiting: Int, room: Int) {
        var info = [UInt32](repeating: 0, count: 64)
        var size = socklen_t(info.count * MemoryLayout<UInt32>.size)
        guard getsockopt(self.descriptor, Int32(IPPROTO_TCP), TCP_INFO, &info, &size) == 0 else {
            throw Failure(code: errno)
        }
        // tcpi_unacked and tcpi_sacked.
        return (Int(info[6]), Int(info[7]))
    }

    /// A connection that is closed with its last use.
    final class Connection: Sendable {
        let descriptor: Int32

        init(descriptor: Int32) { self.descriptor = descriptor }

        deinit { close(self.descriptor) }
    }
}
