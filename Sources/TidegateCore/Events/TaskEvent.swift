/// Something that happened to a task.
///
/// One task's events are published in order, by one thread.
public struct TaskEvent: Sendable {
    /// The task.
    public var id: TaskID
    /// What the task does with bodies.
    public var taskKind: TaskKind
    /// The trace that the task is part of; nil for none.
    public var trace: TraceID?
    /// What happened.
    public var kind: Kind

    /// An event of a task.
    package init(id: TaskID, taskKind: TaskKind, trace: TraceID? = nil, kind: Kind) {
        (self.id, self.taskKind, self.trace, self.kind) = (id, taskKind, trace, kind)
    }

    // Large cases are boxed, because an event is copied into the ring of every subscriber.

    /// What can happen to a task.
    ///
    /// `completed` comes exactly once, and last.
    public enum Kind: Sendable {
        /// The task exists, suspended; its method and its URL without user information and query.
        indirect case created(method: String, url: String)
        /// The last suspension ended.
        case resumed
        /// The first suspension began.
        case suspended(SuspendReason)
        /// The system holds the task.
        case held(HoldReason, detail: String?)
        /// A hold ended.
        case released(HoldReason, after: Duration)
        /// The task passed its gate, timed out there, or ended in the meantime.
        case gate(GateResult, waited: Duration)
        /// An attempt began; counted from 1.
        case attemptStarted(number: Int)
        /// The head of a final response.
        case responseHead(status: Int, expectedBytes: Int64?)
        /// Bodies moved; at most ten of these a second and always a last one.
        indirect case progress(TransferProgress, delta: ByteCounts)
        /// An attempt failed; `isCharged` is false if a lost path ended it.
        indirect case attemptFailed(AttemptSummary, TaskFailure, Attribution?, isCharged: Bool)
        /// An attempt succeeded.
        case attemptSucceeded(AttemptSummary)
        /// A retry follows after `delay`.
        indirect case retryScheduled(RetryReason, delay: Duration)
        /// No further attempt is made although the failure could be retried.
        case retriesExhausted(ExhaustionReason)
        /// A body goes on after the bytes that are held already (206); `total` is the whole body's length, if known.
        case continued(offset: Int64, total: Int64?)
        /// A continued download had to start again; the bytes thrown away.
        case restarted(discarded: Int64)
        /// Bytes were received again for offsets that were already held.
        case refetched(bytes: Int64)
        /// The download is at its final place.
        case moved(file: String)
        /// The download could not be moved to its final place.
        indirect case moveFailed(file: String, errorNumber: Int32)
        /// The task is over.
        case completed(TaskResult)
    }

    /// Body bytes since the last progress.
    public struct ByteCounts: Sendable, Hashable {
        /// Response body bytes on the wire.
        public var received: Int64
        /// Request body bytes.
        public var sent: Int64

        /// A step of both bodies.
        package init(received: Int64 = 0, sent: Int64 = 0) {
            self.received = received
            self.sent = sent
        }
    }

    /// Who suspended a task.
    public enum SuspendReason: String, Sendable, MetricLabel {
        case user, shutdown
    }

    /// How a task left its gate.
    public enum GateResult: String, Sendable, MetricLabel {
        /// The gate was open.
        case immediate
        /// The gate opened after a wait.
        case delayed
        /// Patience ended.
        case timeout
        /// The task ended in the meantime.
        case cancelled
    }

    /// Why an attempt is repeated: a failure, or a class of status.
    public enum RetryReason: Sendable, Hashable {
        /// A failure without a status of its own.
        case failure(TaskFailure)
        /// A status worth a retry.
        case status(Int)

        /// The `reason` label: an `error_type`, or `http_408`, `http_425`, `http_429`, `http_5xx`.
        package var label: String {
            switch self {
            case .failure(let failure): failure.label
            case .status(let status) where status >= 500: "http_5xx"
            case .status(let status): "http_\(status)"
            }
        }
    }

    /// What ended the retries.
    public enum ExhaustionReason: String, Sendable, MetricLabel, CustomStringConvertible {
        case limit, budget, deadline, notIdempotent

        /// The reason as a clause: `the retry budget is empty`.
        public var description: String {
            switch self {
            case .limit: "the limit of retries is reached"
            case .budget: "the retry budget is empty"
            case .deadline: "the deadline leaves no time for one"
            case .notIdempotent: "the request may have been carried out, and must not be repeated"
            }
        }
    }

    var projection: EventProjection {
        var projection = self.kind.projection
        projection.fields.insert(
            contentsOf: [.both("task", self.id.description), .both("kind", self.taskKind.rawValue)], at: 0)
        if let trace = self.trace { projection.fields.append(.both("trace", trace.description)) }
        return projection
    }

    /// True if a failed attempt was ended by the loss of its path and by nothing else.
    package static func isPathLoss(_ failure: TaskFailure, _ attribution: Attribution?, isCharged: Bool) -> Bool {
        // A failure of this host's own, a full disk for one, has no rung.
        !isCharged && attribution?.rung != nil && failure.canFollowFromPathLoss
    }
}
