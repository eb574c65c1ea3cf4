internal import CCurl
internal import CLinux
internal import TidegateCore

/// What libcurl's callbacks of one connection pool append to.
final class CurlCallbackContext {
    private let generation: Int
    private let actions: SocketActions

    /// The calls and sockets that the watchdog may end.
    private let record: CurlCallRecord

    init(generation: Int, actions: SocketActions, record: CurlCallRecord) {
        self.generation = generation
        self.actions = actions
        self.record = record
    }

    /// A socket was opened.
    func opened(_ descriptor: Int32) {
        self.actions.own?.insert(tg_socket_cookie(descriptor))
        self.record.sockets.opened(descriptor, generation: self.generation)
        self.ports.opened(descriptor)
        self.note(.opened(descriptor))
    }

    /// Closes a socket for libcurl.
    func close(_ descriptor: Int32) -> Int32 {
        self.sockets.closing(descriptor)
        self.ports.closed(descriptor)
        self.note(.closed(descriptor))
        return self.record.sockets.close(descriptor)
    }

    /// A socket was closed while connecting, without a callback.
    func abandoned(_ descriptor: Int32) {
        self.ports.closed(descriptor)
        self.note(.abandoned(descriptor))
    }

    /// Whether the watchdog has ended the call of libcurl that is under way.
    var isCallEnded: Bool { self.record.isCallEnded }

    /// Sockets of this pool that are not connected yet.
    var sockets = ConnectingSockets()

    /// Sockets of this pool by their local ports.
    var ports = LocalPorts()

    /// The last request for a timer; taken by the pool.
    var timer: TimerRequest = .unchanged

    enum TimerRequest {
        case unchanged, none
        /// Counted from the moment it was requested.
        case after(milliseconds: Int)
    }

    func note(_ change: SocketActions.Change) {
        self.actions.entries.append(SocketActions.Entry(generation: self.generation, change: change))
    }
}

/// What libcurl wants watched, in the order it said so; applied when no call of libcurl's is under way.
///
/// One for all pools: a descriptor that one of them closes is often the next one that another opens.
final class SocketActions {
    struct Entry {
        let generation: Int
        let change: Change
    }

    /// The interest in a socket, or its beginning or end.
    enum Change {
        /// libcurl wants these events of a socket (CURL_POLL_*).
        case watch(descriptor: Int32, poll: Int32)
        /// A socket we opened.
        case opened(Int32)
        /// A socket we opened is closed; the kernel has forgotten it, too.
        case closed(Int32)
        /// A socket that libcurl closed while connecting, reported only later.
        ///
        /// Its number may already belong to another socket, so the generation is compared first.
        case abandoned(Int32)
    }

    var entries: [Entry] = []
    /// Where the sockets of this program are noted; nil if nobody asks for them.
    let own: OwnSockets?

    init(own: OwnSockets? = nil) { self.own = own }
}

func socketInterestChanged(
    _ easy: UnsafeMutableRawPointer?, _ descriptor: curl_socket_t, _ what: Int32,
    _ context: UnsafeMutableRawPointer?, _ socketContext: UnsafeMutableRawPointer?
) -> Int32 {
    withObject(CurlCallbackContext.self, at: context, else: 0) {
        $0.sockets.interestChanged(descriptor, what)
        $0.note(.watch(descriptor: descriptor, poll: what))
        return 0
    }
}

func timerRequested(
    _ multi: UnsafeMutableRawPointer?, _ milliseconds: Int, _ context: UnsafeMutableRawPointer?
) -> Int32 {
    withObject(CurlCallbackContext.self, at: context, else: 0) {
        $0.timer = milliseconds < 0 ? .none : .after(milliseconds: milliseconds)
        return 0
    }
}

/// Calls `body` with the object that a callback's pointer means; without a pointer the result is `fallback`.
@inline(__always)
func withObject<Object: AnyObject, Result>(
    _ type: Object.Type, at pointer: UnsafeMutableRawPointer?, else fallback: @autoclosure () -> Result,
    _ body: (Object) -> Result
) -> Result {
    guard let pointer else { return fallback() }
    // Without retain and release: libcurl calls this for every socket change.
    return Unmanaged<Object>.fromOpaque(pointer)._withUnsafeGuaranteedRef { body($0) }
}
