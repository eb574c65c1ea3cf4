internal import HTTPTypes
internal import TidegateCore
internal import TidegateTransfer

/// The session thread's state of one live task, with a part for each component.
final class TaskRecord {
    let task: TransferTask
    let policies: ResolvedPolicies

    var machine = TaskMachine()
    var clocks: TaskClocks
    var timer = TaskTimer.off
    /// True while the clocks and the published state of the task are out of date.
    var isTouched = false
    var gate = GateState()
    var retry = RetryState()
    var attempt: AttemptState
    var download = DownloadState()
    var result = ResultState()
    /// The state for hooks and observers; nil for most tasks.
    var delegate: DelegateState?
    /// The journal writer's state of the task; nil for a task that ends with its process.
    let journal: JournalState?

    init(_ task: TransferTask, _ policies: ResolvedPolicies) {
        self.task = task
        self.policies = policies
        self.attempt = AttemptState(hop: task.request.firstHop)
        self.journal = task.journaled.map { JournalState($0.value) }
        self.clocks = TaskClocks(limits: policies.limits)
        // Bytes of another body could not be taken back from a stream.
        self.download.partial.isVerified = task.request.options.sha256 != nil && !self.isStream
    }

    /// True if the task waits instead of failing when a resource of this host is exhausted.
    var waitsForResources: Bool { self.policies.waitsOut || self.journal != nil }

    var number: UInt64 { self.task.number }
    var request: TaskRequest { self.task.request }
    var live: LiveAttempt? { self.attempt.live }
    var hop: Hop { self.attempt.hop }
    var origin: Origin { self.attempt.hop.url.origin }
    var target: TargetState? { self.gate.target }

    /// The delegate's part of the record, created on first use.
    var ownDelegate: DelegateState {
        if let delegate = self.delegate { return delegate }
        let delegate = DelegateState()
        self.delegate = delegate
        return delegate
    }

    /// The destination of the body.
    var destination: Destination { self.delegate?.destination ?? self.request.destination }

    /// The stream to send; nil for other bodies.
    var uploadStream: UploadStream? {
        guard case .stream(let stream) = self.request.body else { return nil }
        return self.delegate?.bodyStream ?? stream
    }

    /// The URL that answered, if it is not the request's.
    var finalURL: String? { self.hop.url === self.request.firstHop.url ? nil : self.hop.url.text }

    /// The destination of the download; nil for other tasks.
    var paths: DownloadPaths? {
        self.download.paths
            ?? self.destination.path.map { DownloadPaths(destination: $0, below: self.request.options.confinedTo) }
    }

    /// True if an unfinished download is kept for the next process.
    var continues: Bool {
        if case .file(_, _, let continues) = self.destination { continues } else { false }
    }

    /// True if bytes are kept after a failed attempt, and the rest may be requested.
    ///
    /// Only a GET is known to return the same body each time, and a range in the request's own fields does not begin at
    /// the body's start.
    var keepsBytes: Bool {
        switch self.destination {
        case .memory: false
        case .file, .descriptor, .stream, .discard:
            !self.request.options.acceptsCompression && self.request.method == "GET"
                && self.request.headers.first(named: .range) == nil
        }
    }

    /// True if delivered bytes cannot be taken back.
    var isStream: Bool {
        switch self.destination {
        case .descriptor, .stream: true
        case .memory, .file, .discard: false
        }
    }

    /// True if part of the body was delivered irrevocably, and the rest cannot be requested.
    var cannotContinue: Bool {
        self.isStream && self.download.partial.offset > 0 && self.download.partial.resumePoint == nil
    }

    /// True if the body is in memory and needs a digest.
    var needsDigestOfMemory: Bool {
        guard self.request.options.sha256 != nil, case .memory = self.destination else { return false }
        return true
    }

    /// True if `online` is required, and was not asked again since the last attempt began.
    var mustConfirm: Bool { self.policies.gate.require.contains(.online) && !self.gate.isConfirmed }

    /// True if the body may be a portal's page: neither TLS nor a digest nor an earlier response proves it.
    var needsProof: Bool {
        let isIdentified =
            self.request.address.scheme == .https && self.hop.url.scheme == .https
            && !self.policies.tls.isInsecure && !self.policies.tls.hosts.values.contains(where: \.isInsecure)
        return self.mustConfirm && !isIdentified && self.request.options.sha256 == nil
            && !self.download.partial.isProved
    }

    /// When the body was last modified according to the server, in seconds since 1970; nil if it has not said so.
    var lastModified: Int64? {
        // A 206 need not repeat the field.
        let known = self.download.partial.point(at: 0).version["last-modified"]
        return (self.result.head?.field("Last-Modified") ?? known).flatMap { HTTPDate.parse($0, year: 2000) }
    }

    /// True while a running attempt has not been ended.
    var isUnderWay: Bool { self.live != nil && self.machine.isOnWire }

    /// True if the task's end is left to the next process.
    var isPreserved: Bool { self.journal?.isPreserved ?? false }

    /// Replaces the hop after redirects with the first one.
    ///
    /// The redirect is requested again, because its destination may have changed. However, if the request is
    /// non-repeatable and its first hop has answered, that hop has already executed it.
    func resetRedirects() {
        self.attempt.followsRedirect = false
        guard self.request.isIdempotent || self.attempt.redirects == 0 else { return }
        self.attempt.redirects = 0
        self.attempt.hop = self.request.firstHop
    }

    /// The inputs that decide which of the task's clocks run.
    var clockInputs: TaskClocks.Inputs {
        TaskClocks.Inputs(
            isSuspended: self.machine.isSuspended, isHeld: self.machine.isHeld, waitsAtGate: self.machine.waitsAtGate,
            isOnWire: self.machine.phase == .running && self.live.map { $0.hook != .asked } == true,
            isInGrace: self.clocks.isScheduled(.grace),
            // When all bytes have arrived, no clock may fail the task before its file is at the destination.
            isOver: self.machine.isOver || self.machine.phase == .finishing)
    }

    /// Publishes its state to other threads.
    func show() {
        self.task.shared.update { shared in
            shared.snapshot.progress = self.progress
            shared.snapshot.started = self.result.started
            shared.snapshot.stall = self.live?.path.stall
            let isOver = self.machine.isOver
            if let head = isOver ? self.result.head : self.live?.head {
                shared.response = (head, self.finalURL, self.result.isRevalidated)
            }
            // The state of an ended task is published with its last event.
            guard !isOver else { return shared.body = self.download.body }
            shared.snapshot.state = self.machine.state
            shared.held = self.machine.heldReasons
            shared.lastByte = self.live?.progress.lastActivity
        }
    }

    /// Publishes the progress of the bodies to other threads.
    func showProgress() {
        let (progress, lastByte) = (self.progress, self.live?.progress.lastActivity)
        self.task.shared.update { shared in
            shared.snapshot.progress = progress
            shared.lastByte = lastByte
        }
    }

    /// The progress of the bodies.
    var progress: TransferProgress {
        let partial = self.download.partial
        guard let attempt = self.live else {
            if let final = self.download.finalProgress { return final }
            return TransferProgress(offset: partial.offset, expected: partial.total, attempt: self.machine.attempts)
        }
        let progress = attempt.progress
        return TransferProgress(
            offset: progress.offset, receivedWire: progress.receivedWire, received: progress.received,
            expected: progress.expected ?? (attempt.head == nil ? partial.total : nil), sent: progress.sent,
            expectedSent: self.expectedSent, attempt: attempt.number)
    }

    // A hop that follows a 303 has no body.
    private var expectedSent: Int64? {
        guard self.hop.keepsBody else { return nil }
        return switch self.request.body {
        case .none: nil
        case .data(let bytes): Int64(bytes.count)
        case .file: self.download.uploadIdentity?.size
        case .stream(let stream): stream.length
        }
    }
}

/// The policies of a request, completed with its session's: created once and shared by every task of that request.
///
/// Stored in each task, they would take a fifth of its memory.
final class ResolvedPolicies: Sendable {
    let gate: GatePolicy
    let retry: RetryPolicy
    let redirects: RedirectRule
    let tls: ServerTrustPolicy
    let proxy: ProxyPolicy
    let limits: Indirect<TaskClocks.Limits>
    /// True if no URL uses a proxy.
    let isDirect: Bool
    /// The TLS options of attempts without a client certificate or a hook; nil if they depend on the host.
    let plainTLS: Indirect<TLSOptions>?
    /// True if tasks wait instead of failing when a resource of this host is exhausted.
    let waitsOut: Bool

    init(_ request: TaskRequest, _ configuration: SessionConfiguration) {
        self.gate = request.options.gate ?? configuration.gate
        self.retry = request.options.retry ?? configuration.retry
        let redirects = request.options.redirects ?? configuration.redirects
        let reachesPrivate = request.options.allowsPrivateRedirects ?? configuration.allowsPrivateRedirects
        self.redirects = RedirectRule(
            policy: redirects, reach: redirects == .free || reachesPrivate ? .everyHost : .otherHosts)
        self.tls = request.options.tls ?? configuration.tls
        self.proxy = request.options.proxy ?? configuration.proxy
        self.isDirect = self.proxy == .direct
        self.plainTLS = self.tls.hostless.map { Indirect($0) }
        self.waitsOut = configuration.waitsOut
        self.limits = Indirect(
            TaskClocks.Limits(
                idle: request.options.idleTimeout, attempt: request.options.attemptTimeout,
                deadline: request.options.deadline, patience: self.gate.patience))
    }
}

/// The content of a task's result.
struct ResultState {
    var started: WallTime?
    var firstResumed: MonotonicTime?
    var status: Int?
    var wireBytes: Int64 = 0
    var sentBytes: Int64 = 0
    var delivered: Int64 = 0
    var refetched: Int64 = 0
    var phases = PhaseDurations()
    var failure: TaskFailure?
    @Rare var attribution: Attribution? = nil
    /// Why the task failed; nil before that is known.
    @Rare var sentence: FailureSentence? = nil
    var requireUnmet: Requirement?
    var movedTo: String?
    @Rare var sha256: String? = nil
    /// The head of the last response.
    var head: ResponseHead?
    /// True if the server has confirmed a stored response, which is the task's result.
    var isRevalidated = false
    /// True if the end has been published; nothing follows it.
    var isPublished = false
}

/// The single timer for all clocks of a task.
enum TaskTimer {
    case off
    /// A timer far enough in the future to be set together with others.
    case pending(due: MonotonicTime)
    case set(TransferTimer, due: MonotonicTime)

    /// When it fires; nil if it is off.
    var due: MonotonicTime? {
        switch self {
        case .off: nil
        case .pending(let due), .set(_, let due): due
        }
    }
}
