internal import CCurl
internal import Glibc
internal import TidegateLoop
internal import TidegateCore

/// A place for one running attempt: libcurl's handle and what its callbacks append to.
///
/// Used again and again.
///
/// The engine's table owns every slot for as long as the thread lives, so that libcurl may hold unretained pointers.
final class CurlTransfer {
    /// The slot's place in the engine's table.
    let number: Int
    let easy: EasyHandle
    /// CURL_ERROR_SIZE bytes for libcurl's words.
    let errorText: UnsafeMutablePointer<CChar>
    let outbox: Outbox
    let time: SystemClock

    /// The attempt in this slot; nil while it is free.
    var request: AttemptRequest?
    var epoch: ConnectionPool?
    var pending: Pending = []
    /// Whether libcurl's set has this slot.
    var isAdded = false
    /// What libcurl was told for good; nil where the next attempt has to tell it everything.
    var profile: ReusedOptions?
    /// The URL that libcurl has; nil after a reset.
    var url: HTTPURL?
    let parsedURL: ParsedURL
    var fieldList = FieldList()
    var resolveList = FieldList()
    /// What is to be shown once the attempt has begun; nil where it takes no line of addresses with it.
    var pinTicket: ConnectionPool.ResolveEntry?

    // What the callbacks append to.
    var stamps = Timestamps()
    var wire = ConnectionInfo()
    var dials = DialRecord()
    var head = ResponseHeadParser()
    var sink = BodyWriter()
    var upload = BodyReader()
    var localFailure: LocalFailure?
    var pause: PauseState = []
    /// How many bytes were there when that was last told.
    var toldBytes: Int64 = 0
    /// Whether a timer is to look at the progress; it serves the slot's next attempt, too.
    var waitsToTell = false

    /// What there is to report.
    struct Pending: OptionSet {
        let rawValue: UInt8
        static let wire = Pending(rawValue: 1)
        static let head = Pending(rawValue: 2)
        static let moved = Pending(rawValue: 4)
        static let blocked = Pending(rawValue: 8)
        /// The attempt is to be ended although libcurl did not end it.
        static let broken = Pending(rawValue: 16)
        /// The rate limit stopped the body.
        static let throttled = Pending(rawValue: 32)
        /// Bytes may have moved unseen, or too soon to be told.
        static let untold = Pending(rawValue: 64)
    }

    /// Why nothing moves.
    struct PauseState: OptionSet {
        let rawValue: UInt8
        static let user = PauseState(rawValue: 1)
        static let sink = PauseState(rawValue: 2)
        static let rate = PauseState(rawValue: 4)
        /// Somebody has to say where the body goes.
        static let decision = PauseState(rawValue: 8)
        /// The request's body is not there yet.
        static let source = PauseState(rawValue: 16)

        /// What stops reading.
        static let receiving: PauseState = [.user, .sink, .rate, .decision]
        /// What stops sending.
        static let sending: PauseState = [.user, .source]
        /// What keeps the server from doing its part.
        static let ours: PauseState = [.sink, .rate, .decision, .source]
    }

    /// When things happened.
    struct Timestamps {
        var started = MonotonicTime(nanoseconds: 0)
        var socketOpened: MonotonicTime?
        var connected: MonotonicTime?
        var wireReached: MonotonicTime?
        var firstByte: MonotonicTime?
        var lastActivity = MonotonicTime(nanoseconds: 0)
        var lastProgress = MonotonicTime(nanoseconds: 0)
    }

    /// Why we ended the transfer ourselves.
    struct LocalFailure {
        let failure: TaskFailure
        let text: String
    }

    init(number: Int, outbox: Outbox, time: SystemClock) throws(CurlError) {
        self.easy = try EasyHandle()
        self.parsedURL = try ParsedURL()
        self.number = number
        self.outbox = outbox
        self.time = time
        self.errorText = .allocate(capacity: Int(CURL_ERROR_SIZE))
        self.errorText.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
    }

    deinit { self.errorText.deallocate() }

    /// Notes something to report; the engine looks after libcurl has returned.
    func note(_ pending: Pending) {
        if self.pending.isEmpty { self.outbox.slots.append(self.number) }
        self.pending.formUnion(pending)
    }

    /// Makes libcurl end the transfer; the first reason stays.
    func fail(_ failure: TaskFailure, _ text: @autoclosure () -> String) {
        if self.localFailure == nil { self.localFailure = LocalFailure(failure: failure, text: text()) }
    }

    /// A try to connect succeeded.
    func connected(to address: IPAddress?) {
        self.dials.isConnected = true
        self.dials.connected = address
        self.stamps.connected = self.time.monotonic()
    }

    /// Takes an attempt.
    func begin(_ request: AttemptRequest, in epoch: ConnectionPool) {
        self.request = request
        self.epoch = epoch
        let now = self.time.monotonic()
        self.stamps.started = now
        self.stamps.lastActivity = now
        self.stamps.lastProgress = now
    }

    /// Whether the attempt has, or is getting, a connection.
    var hasConnection: Bool { self.wire.hasOpened || self.wire.tries > 0 }

    /// Frees the slot for the next attempt.
    ///
    /// libcurl must not be using it any more.
    func clear() {
        self.request = nil
        self.epoch = nil
        self.pending = []
        self.isAdded = false
        self.fieldList = FieldList()
        self.resolveList = FieldList()
        self.pinTicket = nil
        self.stamps = Timestamps()
        self.wire.clear()
        self.dials = DialRecord()
        self.head.clear()
        self.sink.clear()
        self.upload.clear()
        self.localFailure = nil
        self.pause = []
        self.toldBytes = 0
        self.errorText[0] = 0
    }
}

/// Which slots have something to report.
final class Outbox {
    var slots: [Int] = []
}
