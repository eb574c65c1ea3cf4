internal import CLinux
internal import Glibc
internal import Synchronization
package import TidegateCore
internal import TidegateLoop

/// Announces Tidegate's own sockets to the observers of other processes, before the sockets are connected.
///
/// It never waits: if an observer's queue is full, its announcement is sent with the next one or lost.
package final class SocketAnnouncer: Sendable {
    private struct State {
        var descriptor: Int32 = -1
        // The observers by name, with the cookies that did not reach them yet.
        var observers: [String: [UInt64]] = [:]
        var nextLook = MonotonicTime(nanoseconds: 0)
    }

    // The list of observers is read once per interval. It is limited, because any program may pretend to be many.
    private static let (lookInterval, observerLimit) = (Duration.seconds(1), 64)

    private let time: any TimeSource
    private let state = Mutex(State())

    /// Creates an announcer, which opens its socket with the first announcement.
    package init(time: any TimeSource = SystemClock()) { self.time = time }

    deinit { self.state.withLock { if $0.descriptor >= 0 { _ = close($0.descriptor) } } }

    /// Announces sockets to the observers in the calling thread's network namespace, except the observer named `own`.
    package func announce(_ new: [UInt64], except own: String?) {
        let now = self.time.monotonic()
        self.state.withLock { state in
            if now >= state.nextLook {
                let names = SocketAnnouncementChannel.names().prefix(Self.observerLimit)
                state.observers = names.reduce(into: [:]) { $0[$1] = state.observers[$1] ?? [] }
                state.nextLook = now + Self.lookInterval
            }
            for (name, unsent) in state.observers where name != own {
                if state.descriptor < 0 { state.descriptor = SocketAnnouncementChannel.socket() }
                let cookies = Array((unsent + new).suffix(SocketAnnouncementChannel.cookieLimit))
                let code = tg_send_abstract(state.descriptor, name, cookies, cookies.count * 8)
                state.observers[name] = code == EAGAIN ? cookies : []
            }
        }
    }
}

/// The abstract Unix socket (unix(7)) on which other Tidegate processes announce their sockets to an observer.
package final class SocketAnnouncementChannel {
    // The maximum number of sockets per datagram, and of datagrams read in a row.
    fileprivate static let (cookieLimit, burst) = (32, 64)
    private static let prefix = "tidegate-observe-"

    package let descriptor: Int32
    /// The name without its leading zero byte.
    package let name: String
    /// The user of the thread that opened it, comparable with the users from ``receive(_:)``.
    package let user: UInt32 = getuid()
    private var cookies = [UInt64](repeating: 0, count: cookieLimit)

    /// Opens a socket in the calling thread's network namespace.
    ///
    /// - Throws: The error if the kernel or a sandbox refuses it.
    package init(_ options: NetlinkOptions) throws(NetlinkError) {
        if let refusal = options.refusal(.announcements) { throw refusal }
        let descriptor = Self.socket()
        var name = "\(Self.prefix)\(getpid())"
        var code = descriptor < 0 ? errno : tg_bind_abstract(descriptor, name)
        // Process ids may repeat between containers, and a process may have several observers.
        if code == EADDRINUSE {
            name += "-\(UInt64.random(in: 0 ... .max))"
            code = tg_bind_abstract(descriptor, name)
        }
        guard code == 0 else {
            if descriptor >= 0 { _ = close(descriptor) }
            throw NetlinkError(operation: "binding @\(name)", errno: code)
        }
        (self.descriptor, self.name) = (descriptor, name)
    }

    deinit { _ = close(self.descriptor) }

    /// Reads the waiting announcements: the cookie of each socket and the user of the announcing process.
    package func receive(_ body: (_ cookie: UInt64, _ user: UInt32) -> Void) {
        for _ in 0..<Self.burst {
            var user: UInt32 = 0
            let size = tg_receive_from_user(self.descriptor, &self.cookies, self.cookies.count * 8, &user)
            guard size >= 0 else { return }
            for cookie in self.cookies.prefix(size % 8 == 0 ? size / 8 : 0) { body(cookie, user) }
        }
    }

    fileprivate static func socket() -> Int32 {
        Glibc.socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0)
    }

    /// The names of all observers, which `/proc/net/unix` shows with a leading `@`.
    fileprivate static func names() -> Set<String> {
        let text = SystemFiles.text("/proc/thread-self/net/unix", limit: 4 << 20) ?? ""
        let parts = text.utf8.split(separator: UInt8(ascii: "@")).filter { $0.starts(with: Self.prefix.utf8) }
        return Set(parts.map { String(Substring($0.prefix { $0 != UInt8(ascii: "\n") })) })
    }
}
