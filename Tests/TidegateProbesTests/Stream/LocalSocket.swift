import Glibc
import TidegateTestKit

/// A Unix socket that accepts nothing; its file stays.
final class LocalSocket: Sendable {
    /// What it is for.
    enum Kind {
        case stream
        case datagram
    }

    /// A system call failed (errno(3)).
    struct Failure: Error {
        let code: Int32
    }

    private let descriptor: Int32
    private let path: String

    /// A socket with a file; listens if there is a backlog.
    init(_ kind: Kind, at path: String, backlog: Int32?) throws {
        self.descriptor = Self.socket(kind)
        self.path = path
        guard UnixSocketName.pass(path, to: { bind(self.descriptor, $0, $1) }) == 0 else { throw Failure(code: errno) }
        guard let backlog else { return }
        guard listen(self.descriptor, backlog) == 0 else { throw Failure(code: errno) }
    }

    deinit { close(self.descriptor) }

    /// Connects until there is no more room; the connections, which last as long as the array.
    func filled() throws -> [Connection] {
        var fillers: [Connection] = []
        while true {
            let connection = Connection(descriptor: Self.socket(.stream))
            _ = fcntl(connection.descriptor, F_SETFL, O_NONBLOCK)
            // Between Unix sockets a connection stands, or is refused, when connect(2) returns.
            guard UnixSocketName.pass(self.path, to: { connect(connection.descriptor, $0, $1) }) != 0 else {
                fillers.append(connection)
                continue
            }
            guard errno == EAGAIN else { throw Failure(code: errno) }
            return fillers
        }
    }

    /// A connection that is closed with its last use.
    final class Connection: Sendable {
        let descriptor: Int32

        init(descriptor: Int32) { self.descriptor = descriptor }

        deinit { close(self.descriptor) }
    }

    private static func socket(_ kind: Kind) -> Int32 {
        // SOCK_STREAM and SOCK_DGRAM with SOCK_CLOEXEC, which are in no module if a header of another one was there first.
        Glibc.socket(AF_UNIX, (kind == .stream ? 1 : 2) | O_CLOEXEC, 0)
    }
}
