internal import CLinux
internal import Synchronization
internal import TidegateCore
internal import TidegateNetwork

/// Records the verdicts that a gate receives.
final class VerdictRecorder: Sendable {
    private let received = Mutex<[TargetVerdict]>([])

    var verdicts: [TargetVerdict] { self.received.withLock { $0 } }
    var levels: [ReachabilityLevel] { self.verdicts.map(\.verdict.level) }

    var handler: @Sendable (TargetVerdict) -> Void { { verdict in self.received.withLock { $0.append(verdict) } } }
}

/// A resolver whose answers a test releases.
final class PausedResolver: NameResolver {
    private let held = Mutex<[@Sendable (Result<[IPAddress], ResolveFailure>) -> Void]>([])

    func resolve(_ name: String, completion: @escaping @Sendable (Result<[IPAddress], ResolveFailure>) -> Void) {
        self.held.withLock { $0.append(completion) }
    }

    func cached(_ name: String) -> [IPAddress]? { nil }

    func invalidate() {}

    var questions: Int { self.held.withLock { $0.count } }

    func answer(_ addresses: [IPAddress]) {
        for completion in self.held.withLock({ $0 }) { completion(.success(addresses)) }
    }
}

/// A kernel that refuses the first few sockets.
final class SocketRefusals: Sendable {
    private let left: Atomic<Int>

    init(_ count: Int) { self.left = Atomic(count) }

    var next: @Sendable (NetlinkOptions.SocketKind) -> NetlinkError? {
        { _ in
            self.left.subtract(1, ordering: .relaxed).oldValue > 0
                ? NetlinkError(operation: "opening a route netlink socket", text: "Too many open files") : nil
        }
    }
}

/// Gives up root on the calling thread alone: the system call knows threads, the library function whole processes.
func dropPrivileges() {
    _ = tg_thread_become(65534)
}
