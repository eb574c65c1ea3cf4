internal import HTTPTypes
internal import TidegateCore
internal import TidegateTransfer

/// What the attempt runner keeps in each task's record.
struct AttemptState {
    /// The attempt under way; nil between attempts.
    var live: LiveAttempt?
    /// What is sent next.
    var hop: Hop
    /// The proxy that it goes through; nil if it goes directly, or was not admitted yet.
    var proxy: Proxy?
    /// The fields that a hook gave the attempt under way instead of the task's; nil if none was asked.
    var headers: [HTTPField]?
    /// The attempt's part of its task's trace; nil without one.
    var span: SpanID?
    /// How many redirects were followed since the first hop.
    var redirects = 0
    /// How many tries began: an attempt that follows a redirect belongs to the try before it.
    var tries = 0
    /// True if what is sent next follows a redirect.
    var followsRedirect = false
    /// True while the task has a connection of the limiter's.
    var hasConnection = false
    /// False once a server has refused the wait for its go-ahead (417).
    var awaitsContinue = true
    /// The credentials that hooks gave; nil for most tasks.
    var authentication: AuthenticationState?
    /// What a hook was and is to be asked about servers; empty for most tasks.
    var trust = TrustState()

    /// An attempt begins; gives the number of the try that it is part of.
    mutating func beginTry() -> Int {
        if !self.followsRedirect { self.tries += 1 }
        self.followsRedirect = false
        return self.tries
    }
}

extension AttemptID {
    // The task's number and, in the last 24 bits, the attempt's.
    init(task: UInt64, attempt: Int) {
        self.init(rawValue: task << 24 | UInt64(attempt) & 0xFF_FFFF)
    }

    /// The number of the task that the attempt is one of.
    var task: UInt64 { self.rawValue >> 24 }
}

/// One attempt while it lasts: what the engine has reported of it, and what was made of that.
final class LiveAttempt {
    /// What a hook has to do with the attempt.
    enum Hook {
        case none
        /// One decides what becomes of the response once its head is here.
        case awaitsHead
        /// One is asked: the attempt stands still until it has answered.
        case asked
    }

    let id: AttemptID
    /// The attempt, and the try that it is part of; both are counted from 1.
    let numbers: (attempt: Int, try: Int)
    let started: MonotonicTime
    var path: AttemptPath
    /// The generation of the connection pool it belongs to; nil until the engine has it.
    var pool: Int?
    /// How long the name took; nil if none was looked up.
    var resolve: Duration?
    var hook = Hook.none
    var contact: ConnectionFacts?
    var head: ResponseHead?
    var progress: AttemptProgress
    /// What was published of its bytes; nil until anything was.
    var published: TaskEvent.ByteCounts?
    /// When it is written down next how far the download is.
    var nextNote: MonotonicTime

    init(
        id: AttemptID, number: Int, tryNumber: Int? = nil, started: MonotonicTime, knowing known: KnownVerdict?
    ) {
        self.id = id
        self.numbers = (number, tryNumber ?? number)
        self.started = started
        self.path = AttemptPath(known)
        self.progress = AttemptProgress(lastActivity: started)
        self.nextNote = started
    }

    var number: Int { self.numbers.attempt }

    /// True once the engine has it.
    var isLaunched: Bool { self.pool != nil }
}
