internal import TidegateCore

/// What there is to report about a transfer, and what progress was reported last.
struct TransferReports {
    /// Kinds of reports.
    struct Kinds: OptionSet {
        let rawValue: UInt8
        /// The request was started on the wire.
        static let wire = Kinds(rawValue: 1)
        /// The response's head is complete.
        static let head = Kinds(rawValue: 2)
        /// Bytes moved.
        static let moved = Kinds(rawValue: 4)
        /// The sink's descriptor takes nothing now.
        static let blocked = Kinds(rawValue: 8)
        /// The attempt is to be ended although libcurl did not end it.
        static let aborted = Kinds(rawValue: 16)
        /// The rate limit stopped the body.
        static let throttled = Kinds(rawValue: 32)
        /// Progress that came too soon after the last report may be reported now.
        static let progressDue = Kinds(rawValue: 64)
        /// A try to connect failed, and there may be another address.
        static let tryFailed = Kinds(rawValue: 128)
    }

    private let number: Int
    private let queue: ReportQueue
    private var pending: Kinds = []
    /// When progress was reported last; the attempt's start before that.
    var lastProgress = MonotonicTime(nanoseconds: 0)
    /// How many bytes had moved then.
    var reportedBytes: Int64 = 0
    /// Whether a timer is set for the next report of progress; it also serves the transfer's next attempt.
    var hasProgressTimer = false

    init(number: Int, queue: ReportQueue) {
        self.number = number
        self.queue = queue
    }

    mutating func add(_ kind: Kinds) {
        if self.pending.isEmpty { self.queue.numbers.append(self.number) }
        self.pending.formUnion(kind)
    }

    /// Takes what there is to report.
    mutating func take() -> Kinds {
        defer { self.pending = [] }
        return self.pending
    }

    mutating func clear() {
        self.pending = []
        self.reportedBytes = 0
    }
}

/// Numbers of the transfers with something to report, in order.
final class ReportQueue {
    var numbers: [Int] = []
}
