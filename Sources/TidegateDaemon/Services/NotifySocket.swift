internal import Glibc
internal import ServiceLifecycle
internal import Synchronization
internal import Tidegate
internal import TidegateServer

/// The socket on which the service manager that started the daemon, such as systemd, receives its state (sd_notify(3)).
struct NotifySocket: Sendable, Hashable {
    /// A change of state that is reported.
    enum Notice: Sendable, Hashable {
        case ready, stopping, alive
        /// A reload began; `ready` ends it.
        case reloading
        /// One line that `systemctl status` shows.
        case status(String)

        var text: String {
            switch self {
            case .ready: "READY=1"
            case .stopping: "STOPPING=1"
            case .alive: "WATCHDOG=1"
            case .reloading: "RELOADING=1\nMONOTONIC_USEC=\(Self.microseconds)"
            case .status(let line): "STATUS=\(line.escapingControls)"
            }
        }

        // CLOCK_MONOTONIC, as Type=notify-reload asks for.
        private static var microseconds: Int {
            var time = timespec()
            clock_gettime(CLOCK_MONOTONIC, &time)
            return time.tv_sec * 1_000_000 + time.tv_nsec / 1000
        }
    }

    private let address: [UInt8]
    /// How often the manager expects a sign of life (sd_watchdog_enabled(3)); nil if it does not.
    let watchdog: Duration?

    /// The socket that an environment names; nil if it names none.
    init?(environment: (String) -> String?, process: Int32 = getpid()) {
        guard let socket = environment("NOTIFY_SOCKET"), let first = socket.utf8.first else { return nil }
        // "@" stands for the NUL byte of an abstract address (unix(7)).
        self.address = first == UInt8(ascii: "@") ? [0] + socket.utf8.dropFirst() : Array(socket.utf8)
        let isMeant = environment("WATCHDOG_PID").map { $0 == "\(process)" } ?? true
        let limit = environment("WATCHDOG_USEC").flatMap { Int64($0) }
        self.watchdog = isMeant ? limit.flatMap { $0 > 0 ? .microseconds($0) : nil } : nil
    }

    /// Sends a notice; a manager that is gone or slow is ignored.
    func send(_ notice: Notice) {
        var name = sockaddr_un()
        name.sun_family = sa_family_t(AF_UNIX)
        guard self.address.count < MemoryLayout.size(ofValue: name.sun_path) else { return }
        withUnsafeMutableBytes(of: &name.sun_path) { $0.copyBytes(from: self.address) }
        let isAbstract = self.address.first == 0
        let length = MemoryLayout<sa_family_t>.size + self.address.count + (isAbstract ? 0 : 1)
        let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        let text = Array(notice.text.utf8)
        _ = withUnsafePointer(to: &name) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                sendto(
                    descriptor, text, text.count, Int32(MSG_DONTWAIT | MSG_NOSIGNAL), $0,
                    socklen_t(length))
            }
        }
    }

    /// Gives a sign of life twice in each interval, until shutdown.
    ///
    /// It stays silent while `isAlive` returns false, and while the server's thread takes no turn.
    func feedWatchdog(while isAlive: () -> Bool) async {
        guard let watchdog else { return }
        while (try? await Task.sleep(for: watchdog / 2, clock: .continuous)) != nil {
            await ServerLoops.takeTurn()
            if isAlive() { self.send(.alive) }
        }
    }

}

/// Reports that the daemon is ready once all its sockets listen, and each verdict and diagnosis of this host.
final class StartNotice: Sendable {
    private let socket: NotifySocket?
    private let missing: Atomic<Int>
    private let states: Subscription?

    /// Collects the verdicts and diagnoses on `bus` from now on.
    init(_ socket: NotifySocket?, sockets: Int, bus: EventBus) {
        self.socket = socket
        self.missing = Atomic(sockets)
        self.states = socket.map { _ in
            bus.subscribe(.library) { event in
                switch event.payload {
                case .diagnosis: true
                case .path(let path): path.scope == .global
                default: false
                }
            }
        }
    }

    /// Records that one more socket listens.
    func listens() {
        if self.missing.wrappingSubtract(1, ordering: .relaxed).newValue == 0 { self.socket?.send(.ready) }
    }

    /// Shows each verdict and diagnosis as the status, until shutdown.
    func showStatus() async {
        guard let socket, let states else { return }
        for await event in states.cancelOnGracefulShutdown() { socket.send(.status(event.sentence)) }
    }
}
