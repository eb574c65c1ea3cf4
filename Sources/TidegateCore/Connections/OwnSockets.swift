internal import Synchronization

/// The sockets that this program has opened.
///
/// Observers must not count its connections as those of other programs: neither its own observer nor those of other
/// programs, which receive announcements.
package final class OwnSockets: Sendable {
    /// Announces sockets to observers, except the named one.
    package typealias Announce = @Sendable (_ cookies: [UInt64], _ except: String?) -> Void

    private struct Cookies {
        var recent: Set<UInt64> = []
        var older: Set<UInt64> = []
        var observer: String?
    }

    // No program ends twice as many connections between two lists of the kernel.
    private static let limit = 32_768

    private let cookies = Mutex(Cookies())
    private let announce: Announce

    /// No sockets yet; `announce` is called with all that follow, on the threads that open them.
    package init(announcingBy announce: @escaping Announce = { _, _ in }) { self.announce = announce }

    /// This program's own observer has a name among observers, and needs no announcement.
    package func observe(as name: String) { self.cookies.withLock { $0.observer = name } }

    /// Remembers a socket that is not connected yet by the number that no other one has (SO_COOKIE in socket(7)); 0 is
    /// none.
    package func insert(_ cookie: UInt64) { self.insert([cookie]) }

    /// Remembers sockets that are not connected yet.
    package func insert(_ new: [UInt64]) {
        let new = new.filter { $0 != 0 }
        guard !new.isEmpty else { return }
        let observer = self.cookies.withLock { cookies in
            if cookies.recent.count >= Self.limit { (cookies.older, cookies.recent) = (cookies.recent, []) }
            cookies.recent.formUnion(new)
            return cookies.observer
        }
        self.announce(new, observer)
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
