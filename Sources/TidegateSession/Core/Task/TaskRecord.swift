internal import HTTPTypes
internal import TidegateCore
internal import TidegateTransfer

/// Everything the session's thread knows about one task.
final class TaskRecord {
    let task: TransferTask
    private let terms: ResolvedPolicies

    var machine = TaskMachine()
    var clocks: TaskClocks
    var counter = RetryCounter()
    var hop: RedirectRule.Hop
    var redirects = 0
    var attempt: LiveAttempt?
    var hold = PartialBody()
    var file: DownloadFile?
    /// Where the finished file is; nil until it is put there.
    var placement: FileCommit?
    /// True once a temporary file of this task may be on the disk.
    var hasTemporary = false
    var bodyIdentity: FileIdentity?
    var isPrepared = false
    var body: [UInt8] = []
    /// How far the attempt had come that brought everything.
    var finalProgress: TransferProgress?

    /// The desk of the current hop; nil before the first one.
    var desk: TargetState?
    /// True once it has stood in one of the desk's lines.
    var standsInLine = false
    var hasSlot = false
    var gateWaitBegan: MonotonicTime?
    var gateWasTold = false
    var shut: GateEvaluator.Shut?
    var linkFailures = 0

    /// The journal's side of it; nil for a task that dies with its process.
    let journal: JournalState?

    /// What only few tasks have; nil for most.
    var extras: RareTaskState?
    /// The origin that it asks before the others do; nil for most.
    var probes: Origin?
    /// The origin that failed too often and is waited for; nil for most.
    var waitsAtCircuit: Origin?
    /// What the next try is still to be paid with.
    var owes: RetryPrice?

    var tally = Tally()
    var alarm = TaskAlarm.off
    /// How deep inputs are being handled; what everybody sees is written when the last one is done.
    var depth = 0
    var isPublished = false

    /// What the result will say.
    struct Tally {
        var started: WallTime?
        var firstResumed: MonotonicTime?
        var status: Int?
        var wireBytes: Int64 = 0
        var delivered: Int64 = 0
        var refetched: Int64 = 0
        var phases = PhaseDurations()
        var failure: TaskFailure?
        var attribution: Attribution?
        var explanation: String?
        var requireUnmet: Requirement?
        var movedTo: String?
        var sha256: String?
        /// The head of the last answer.
        var head: ResponseHead?
    }

    init(_ task: TransferTask, _ terms: ResolvedPolicies) {
        self.task = task
        self.terms = terms
        self.hop = task.request.firstHop
        self.journal = task.journaled.map { JournalState($0.task) }
        self.clocks = TaskClocks(limits: terms.limits)
    }

    var gate: GatePolicy { self.terms.gate }
    var retry: RetryPolicy { self.terms.retry }

    var number: UInt64 { self.task.number }
    var request: TaskRequest { self.task.request }
    var kind: TaskKind { self.task.request.kind }
    var firstHop: RedirectRule.Hop { self.task.request.firstHop }

    /// Where the download goes; nil for other tasks.
    var paths: DownloadPaths? {
        if case .file(let path, _, _) = self.destination { DownloadPaths(destination: path) } else { nil }
    }

    /// True where an unfinished download is kept for the next process.
    var continues: Bool {
        if case .file(_, _, let continues) = self.destination { continues } else { false }
    }

    /// True where bytes stay after a failed attempt, and the rest may be asked for.
    ///
    /// Only a GET's body is known to be the same each time, and a range of the user's own is not the body from its
    /// start.
    var keepsBytes: Bool {
        switch self.destination {
        case .memory: false
        case .file, .descriptor, .stream, .discard:
            !self.request.acceptsCompression && self.request.method == "GET"
                && self.request.headers.first(named: .range) == nil
        }
    }

    /// True where bytes once delivered cannot be taken back.
    var isStream: Bool {
        switch self.request.destination {
        case .descriptor, .stream: true
        case .memory, .file, .discard: false
        }
    }

    /// True where the attempt's request may be sent once more.
    var mayRepeat: Bool { self.request.isIdempotent || self.attempt?.contact == nil }

    var waitsAtGate: Bool { self.machine.isHeld(for: .path) || self.machine.isHeld(for: .constraint) }

    var situation: TaskClocks.Situation {
        TaskClocks.Situation(
            isSuspended: self.machine.isSuspended,
            isHeld: self.machine.isHeld, waitsAtGate: self.waitsAtGate,
            isOnWire: self.machine.phase == .running && self.attempt?.isDeciding == false,
            isInGrace: self.clocks.hasAppointment(.grace),
            // Once every byte is here no clock may come between the file and its place.
            isOver: self.machine.isOver || self.machine.phase == .finishing)
    }

    /// How far the bodies have come, for people.
    var progress: TransferProgress {
        guard let attempt = self.attempt else {
            if let final = self.finalProgress { return final }
            return TransferProgress(
                offset: self.hold.offset, expected: self.hold.total, attempt: self.machine.attempts)
        }
        let progress = attempt.progress
        return TransferProgress(
            offset: progress.offset, receivedWire: progress.receivedWire, received: progress.received,
            expected: progress.expected ?? (attempt.head == nil ? self.hold.total : nil), sent: progress.sent,
            expectedSent: self.expectedSent, attempt: attempt.number)
    }

    private var expectedSent: Int64? {
        switch self.request.body {
        case .none: nil
        case .data(let bytes): Int64(bytes.count)
        case .file: self.bodyIdentity?.size
        case .stream(let stream): stream.length
        }
    }
}
