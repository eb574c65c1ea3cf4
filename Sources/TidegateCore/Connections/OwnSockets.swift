internal import Synchronization

/// The sockets that this program has opened, so that its own connections are not taken for those of others.
package final class OwnSockets: Sendable {
    private struct Cookies {
        var recent: Set<UInt64> = []
        var older: Set<UInt64> = []
    }

    // Twice as many connections of one program do not end between two lists of the kernel.
    private static let limit = 32_768

    private let cookies = Mutex(Cookies())

    package init() {}

    /// Remembers a socket by the number that no other one has (SO_COOKIE in socket(7)); 0 is none.
    package func insert(_ cookie: UInt64) {
        guard cookie != 0 else { return }
        self.cookies.withLock { cookies in
            if cookies.recent.count >= Self.limit { (cookies.older, cookies.recent) = (cookies.recent, []) }
            cookies.recent.insert(cookie)
        }
    }

    /// Whether this program opened the socket.
    package func contains(_ cookie: UInt64) -> Bool {
        self.cookies.withLock { $0.recent.contains(cookie) || $0.older.contains(cookie) }
    }
}

/// A process that has a socket open.
package struct SocketProgram: Sendable, Hashable {
    /// Its number.
    package var pid: Int32
    /// Its name, of 15 bytes at most (comm in proc_pid_comm(5)).
    package var name: String

    /// A process from its parts.
    package init(pid: Int32, name: String) {
        self.pid = pid
        self.name = name
    }
}
