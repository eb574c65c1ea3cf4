internal import TidegateCore
internal import TidegateTransfer

/// What the attempt runner keeps in each task's record.
struct AttemptState {
    /// The attempt under way; nil between attempts.
    var live: LiveAttempt?
    /// What is sent next.
    var hop: Hop
    /// How many redirects were followed since the first hop.
    var redirects = 0
    /// True while the task has a connection of the limiter's.
    var hasConnection = false
}

extension AttemptID {
    // The task's number and, in the last 24 bits, the attempt's.
    init(task: UInt64, attempt: Int) {
        self.init(rawValue: task << 24 | UInt64(attempt) & 0xFF_FFFF)
    }

    /// The number of the task that the attempt is one of.
    var task: UInt64 { self.rawValue >> 24 }
}

/// One attempt while it lasts.
final class LiveAttempt {
    /// What was published of an attempt's bytes.
    struct Published {
        var bytes = TaskEvent.ByteCounts()
        /// True once any progress was published.
        var isAny = false
        /// Bytes of the body that had never been here before.
        var gained: Int64 = 0
        /// When the next continuation record is due.
        var nextRecord: MonotonicTime
    }

    /// How an attempt and the hooks go together.
    struct HookState {
        /// True if its body waits for a hook.
        var awaitsDisposition = false
        /// True while a hook is asked about it.
        var isDeciding = false
    }

    let id: AttemptID
    let number: Int
    let started: MonotonicTime
    /// What was known of its target when it began.
    private let known: KnownVerdict?
    /// The generation of the connection pool it belongs to; nil until the engine has it.
    var pool: Int?
    /// How long the name took; nil if none was looked up.
    var resolve: Duration?
    var hooks = HookState()
    var contact: ConnectionFacts?
    var head: ResponseHead?
    private var ownPath: NetworkPath?
    var progress: AttemptProgress
    var published: Published
    /// When the path came back within the grace.
    var returned: MonotonicTime?

    init(id: AttemptID, number: Int, started: MonotonicTime, knowing known: KnownVerdict?) {
        self.id = id
        self.number = number
        self.started = started
        self.known = known
        self.progress = AttemptProgress(lastActivity: started)
        self.published = Published(nextRecord: started)
    }

    /// True once the engine has it.
    var isLaunched: Bool { self.pool != nil }

    /// The verdict when it began.
    var before: Verdict { self.known?.verdict.verdict ?? .unknown }

    /// The path it takes; nil while unknown.
    var path: NetworkPath? {
        get { self.ownPath ?? self.known?.verdict.verdict.path }
        set { self.ownPath = newValue }
    }
}
