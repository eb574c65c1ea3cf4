internal import HTTPTypes
internal import Synchronization
internal import TidegateCore
internal import TidegateLoop
internal import TidegateTransfer

/// The attempt-related state of each task.
struct AttemptState {
    /// The current attempt; nil between attempts.
    var live: LiveAttempt?
    /// The next hop.
    var hop: Hop
    /// The proxy of the hop; nil if it connects directly or has not been admitted yet.
    @Rare var proxy: Proxy? = nil
    /// The fields from a hook for the current attempt, which replace the task's; nil without a hook.
    var headers: [HTTPField]?
    /// The attempt's span in its task's trace; nil if there is no trace.
    var span: SpanID?
    /// The number of redirects followed since the first hop.
    var redirects = 0
    /// The number of tries: an attempt that follows a redirect belongs to the try before it.
    var tries = 0
    /// True if the next hop follows a redirect.
    var followsRedirect = false
    /// True while the task holds a connection of the limiter.
    var hasConnection = false
    /// False once a server has refused to wait for a 100 response (417).
    var awaitsContinue = true
    /// False once a server has required HTTP/1.1 (RFC 9113 7).
    var allowsHTTP2 = true
    /// True once the hop's server has refused the request because of its connection (421).
    var needsFreshConnection = false
    /// The credentials from hooks; nil for most tasks.
    var authentication: AuthenticationState?
    /// A hook's verdicts on servers so far; empty for most tasks.
    var trustVerdicts: [ServerTrust: ServerTrustVerdict] = [:]
    /// The open question about the attempt's server; nil without such a hook.
    var trustQuestion: TrustQuestion?

    /// Starts an attempt; returns the number of its try.
    mutating func beginTry() -> Int {
        if !self.followsRedirect { self.tries += 1 }
        self.followsRedirect = false
        return self.tries
    }
}

extension AttemptID {
    // The task's number and, in the low 24 bits, the attempt's.
    init(task: UInt64, attempt: Int) { self.init(rawValue: task << 24 | UInt64(attempt) & 0xFF_FFFF) }

    /// The number of the attempt's task.
    var task: UInt64 { self.rawValue >> 24 }
}

/// One running attempt: the engine's reports about it, and their evaluation.
final class LiveAttempt {
    /// The role of a hook in the attempt.
    enum Hook {
        case none
        /// The hook decides about the response once its head has arrived.
        case awaitsHead
        /// The hook has been called: the attempt is paused until the answer.
        case asked
    }

    let id: AttemptID
    /// The attempt's number, from 1.
    let number: Int
    /// The number of its try, from 1.
    let tryNumber: Int
    let started: MonotonicTime
    var path: AttemptPath
    /// The generation of its connection pool; nil until the engine has the attempt.
    var pool: Int?
    /// How long the name lookup took; nil if there was none.
    var resolve: Duration?
    var hook = Hook.none
    var contact: ConnectionFacts?
    var head: ResponseHead?
    var progress: AttemptProgress
    /// The bytes published so far; nil before the first publication.
    var published: TaskEvent.ByteCounts?
    /// When to next record the progress of the download.
    var nextNote: MonotonicTime
    /// Nil if the task has no lowest speed, or the request has not started.
    var speed: SpeedWatch?

    init(id: AttemptID, number: Int, tryNumber: Int? = nil, started: MonotonicTime, knowing known: KnownVerdict?) {
        self.id = id
        self.number = number
        self.tryNumber = tryNumber ?? number
        self.started = started
        self.path = AttemptPath(known)
        self.progress = AttemptProgress(lastActivity: started)
        self.nextNote = started
    }

    /// True if the engine has the attempt.
    var isLaunched: Bool { self.pool != nil }
}

/// The time for which an attempt has been slower than its task allows.
struct SpeedWatch {
    /// The time between two checks.
    static let interval = Duration.seconds(1)
    /// How long an attempt may be too slow, unless its task says otherwise.
    static let patience = Duration.seconds(10)

    private var bytes: Int64 = 0
    private var checked: MonotonicTime
    private var fast: MonotonicTime

    init(at now: MonotonicTime) { (self.checked, self.fast) = (now, now) }

    /// Compares the bytes since the last check with a limit in bytes per second.
    ///
    /// The wait for a response is not slow, and neither is a transfer that this side holds.
    mutating func check(
        _ progress: AttemptProgress, _ limit: Int, isHeld: Bool, hasHead: Bool, at now: MonotonicTime
    ) {
        let bytes = progress.receivedWire + progress.sent
        let (moved, elapsed) = (bytes - self.bytes, now - self.checked)
        (self.bytes, self.checked) = (bytes, now)
        let needed = Double(limit) * Double(elapsed.wholeNanoseconds) / 1e9
        // A late check means that this process was busy or stopped.
        let isLate = elapsed > SpeedWatch.interval * 3
        if isHeld || isLate || !hasHead && moved == 0 || Double(moved) >= needed { self.fast = now }
    }

    func slowTime(at now: MonotonicTime) -> Duration { now - self.fast }
}

/// The path that an attempt takes.
struct AttemptPath {
    /// The verdict of the target when the attempt began.
    private let known: KnownVerdict?
    // Nil without a connection; the path is nil if the connection's address is unknown.
    private var connection: NetworkPath??
    /// Why packets cannot leave, while the path is lost but not given up: `no path: eth0 has no carrier`.
    var stall: String?
    /// When the path came back within the grace period.
    var returned: MonotonicTime?

    init(_ known: KnownVerdict?) { self.known = known }

    /// The verdict when the attempt began; without the path if that led to the resolvers.
    var before: Verdict { self.known?.ownVerdict ?? .unknown }

    /// The path of its packets; nil while unknown.
    var current: NetworkPath? { self.connection ?? self.known?.ownVerdict.path }

    /// Records that the attempt has a connection; `path` is nil if the connection's address is unknown.
    mutating func connected(on path: NetworkPath?) { self.connection = .some(path) }

    /// Sets the path of the connection's address when it becomes known.
    mutating func learned(_ path: NetworkPath?) {
        if case .some(.none) = self.connection { self.connection = .some(path) }
    }
}

/// A server whose attempt failed because a hook has not evaluated it yet.
final class TrustQuestion: Sendable {
    private let asked = Mutex<ServerTrust?>(nil)

    /// The server; nil if there is no question.
    var trust: ServerTrust? { self.asked.withLock { $0 } }

    func ask(about trust: ServerTrust) { self.asked.withLock { $0 = trust } }
}

/// An attempt ended by the engine or by the session.
struct AttemptEnd {
    let live: LiveAttempt
    var failure: TaskFailure?
    var kind: FailureClass
    var text: String
    var reachedWire: Bool
    var resolveFailure: ResolveFailure?
    /// Body bytes that continue the held part; bytes from the start count only if nothing had arrived before.
    var gained: Int64 = 0

    private let whole: Indirect<AttemptOutcome>

    /// Creates the end of an attempt that the engine ended.
    init(_ live: LiveAttempt, _ outcome: Indirect<AttemptOutcome>) {
        self.live = live
        self.whole = outcome
        (self.failure, self.text) = (outcome.value.failure, outcome.value.text)
        self.reachedWire = outcome.value.reachedWire
        guard let failure = outcome.value.failure else {
            self.kind = .status
            return
        }
        // The result of the head outweighs the end of the body.
        let isByHead = failure == .httpStatus || failure == .rangeMismatch
        self.kind = (isByHead ? nil : outcome.value.curlFailureClass) ?? FailureClass(of: failure)
    }

    /// Creates the end of an attempt that the session ended.
    init(
        _ live: LiveAttempt, _ failure: TaskFailure, _ text: String, at now: MonotonicTime, isConnected: Bool = false,
        failedConnect: FailedConnect? = nil
    ) {
        var outcome = AttemptOutcome(progress: live.progress, started: live.started, ended: now)
        (outcome.failure, outcome.text) = (failure, text)
        (outcome.head, outcome.connection) = (live.head, live.contact)
        (outcome.isConnected, outcome.failedConnect) = (isConnected, failedConnect)
        outcome.reachedWire = live.contact != nil
        self.init(live, Indirect(outcome))
    }

    var outcome: AttemptOutcome { self.whole.value }

    /// The same end with another failure.
    func with(_ failure: TaskFailure, _ text: String) -> AttemptEnd {
        var end = self
        end.failure = failure
        end.kind = FailureClass(of: failure)
        end.text = text
        return end
    }

    /// The number of body bytes delivered by a task that ends with this attempt.
    func delivered(with partial: PartialBody) -> Int64 {
        let progress = self.outcome.progress
        if self.outcome.head?.range == .alreadyComplete { return max(0, partial.offset - partial.start) }
        return max(0, progress.offset + progress.received - partial.start)
    }

    /// Whether the next attempt can continue after enough new bytes: 16 KiB, or 0.1 % of a smaller body.
    func madeProgress(with partial: PartialBody) -> Bool {
        partial.resumePoint != nil && self.gained >= max(1, min(16_384, (partial.total ?? .max) / 1000))
    }

    /// The wait that the server requested; nil if it requested none.
    func retryAfter(now: WallTime) -> Duration? {
        guard self.failure == .httpStatus, let head = self.outcome.head, let field = head.field("Retry-After") else {
            return nil
        }
        return RetryAfter.parse(field, date: head.field("Date"), now: now)
    }

    /// Whether the attempt failed for lack of a descriptor.
    var lackedDescriptor: Bool {
        self.outcome.lackedDescriptor || self.resolveFailure != nil && DescriptorShortage.isNow()
    }

    var status: Int? { self.outcome.head?.status }

    /// Whether the server may have processed the request.
    var mayBeProcessed: Bool { self.reachedWire && !self.outcome.isUnprocessed }

    /// Whether a connection was established.
    var isConnected: Bool { self.outcome.isConnected || self.live.contact != nil }

    /// True if no connection was established although something was sent.
    var missedPeer: Bool {
        guard !self.isConnected, self.outcome.peer != nil, let failure = self.failure else { return false }
        return [.connectFailed, .timedOut, .stalled, .deadlineExceeded].contains(failure)
    }

    /// The stage in which the attempt ended; nil if it had not begun.
    var stage: Stage? {
        if self.resolveFailure != nil { return .resolve }
        if self.outcome.head != nil { return .body }
        if self.reachedWire { return .response }
        guard self.live.isLaunched else { return nil }
        return self.isConnected ? .tls : .connect
    }

    func summary(of record: TaskRecord) -> AttemptSummary {
        let hop = record.hop
        var phases = self.outcome.phases
        phases.resolve = self.live.resolve
        return AttemptSummary(
            number: self.live.number, method: hop.method, host: hop.url.target.host, status: self.outcome.head?.status,
            duration: self.outcome.ended - self.live.started, phases: phases,
            receivedWire: self.outcome.progress.receivedWire, sent: self.outcome.progress.sent,
            connectionsOpened: self.outcome.connectionsOpened, remote: self.outcome.connection?.remote,
            local: self.outcome.connection?.local, tryNumber: self.live.tryNumber,
            isSent: self.reachedWire || self.outcome.head != nil, tls: self.outcome.tls, span: record.attempt.span)
    }
}
