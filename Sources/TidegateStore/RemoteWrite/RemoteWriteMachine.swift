internal import TidegateCore

/// Decides which batch is sent, oldest first and one at a time, and which batches are dropped.
struct RemoteWriteMachine {
    enum Input: Sendable, Hashable {
        /// The batches left by an earlier process, oldest first.
        case found([SampleBatch])
        /// An earlier process's file was damaged and has been deleted.
        case discarded(samples: Int, detail: String)
        /// A new batch is in the queue's file.
        case stored(SampleBatch)
        /// A new batch could not be written; contains the system's message.
        case notStored(SampleBatch, String)
        /// One attempt of the current request failed.
        case attemptFailed(RemoteWriteFailure)
        /// The current request has ended.
        case finished(SendOutcome)
        /// The body of the batch to send is missing or damaged.
        case damaged
        /// The pause after a failure is over.
        case pauseEnded
        case stop
    }

    enum Effect: Sendable, Hashable {
        case send(SampleBatch)
        case remove(SampleBatch)
        /// Stop sending for a while.
        case pause
        case report(RemoteWriteEvent)
    }

    private enum State: Hashable {
        case idle
        /// The queue's first batch is being sent; true once a failure has been reported.
        case sending(isFailureReported: Bool)
        /// The queue's first batch will be sent again after a pause.
        case pausing
        case stopped
    }

    private enum Issue: Hashable {
        case failure(TaskFailure, status: Int?)
        case loss(RemoteWriteLoss)
    }

    private var state = State.idle
    private var queue: BatchQueue
    // Cleared on delivery: a day-long outage must not log the same line every few seconds.
    private var reportedIssues: Set<Issue> = []

    init(bound: Int64) { self.queue = BatchQueue(bound: bound) }

    mutating func handle(_ input: Input) -> [Effect] {
        switch (self.state, input) {
        case (.stopped, _): return []
        case (_, .stop):
            self.state = .stopped
            return []
        case (_, .found(let batches)): return self.found(batches)
        case (_, .discarded(let samples, let detail)):
            return [.report(self.lost(samples, .damaged, detail: detail))]
        case (_, .stored(let batch)): return self.stored(batch)
        case (_, .notStored(let batch, let message)): return self.notStored(batch, message)
        case (.sending, .attemptFailed(let failure)):
            // A rejection is reported as a loss when the request has ended.
            if let status = failure.status, SendOutcome.isRefusal(status) { return [] }
            self.state = .sending(isFailureReported: true)
            return [.report(self.failed(failure))]
        case (.sending(let isFailureReported), .finished(let outcome)):
            return self.finished(outcome, isFailureReported: isFailureReported)
        case (.sending, .damaged): return self.loseFirst(.damaged, detail: nil) + self.sendNext()
        case (.pausing, .pauseEnded): return self.sendNext()
        case (.idle, .attemptFailed), (.idle, .finished), (.idle, .damaged), (.idle, .pauseEnded),
            (.sending, .pauseEnded), (.pausing, .attemptFailed), (.pausing, .finished), (.pausing, .damaged):
            return []
        }
    }

    // MARK: New batches

    private mutating func found(_ batches: [SampleBatch]) -> [Effect] {
        for batch in batches { self.queue.append(batch) }
        let opened = RemoteWriteEvent.opened(samples: self.queue.samples, pending: self.queue.bytes)
        return [.report(opened)] + self.dropExcess() + self.sendIfIdle()
    }

    private mutating func stored(_ batch: SampleBatch) -> [Effect] {
        self.queue.append(batch)
        let kept = RemoteWriteEvent.kept(samples: batch.samples, pending: self.queue.bytes)
        return [.report(kept)] + self.dropExcess() + self.sendIfIdle()
    }

    // Without a disk, only the batch that can be sent immediately is kept in memory.
    private mutating func notStored(_ batch: SampleBatch, _ message: String) -> [Effect] {
        guard self.state == .idle, self.queue.first == nil else {
            return [.report(self.lost(batch.samples, .disk, detail: message))]
        }
        self.queue.append(batch)
        return self.sendNext()
    }

    private mutating func dropExcess() -> [Effect] {
        self.queue.removeExcess(isSendingFirst: self.state != .idle).flatMap { batch -> [Effect] in
            [.remove(batch), .report(self.lost(batch.samples, .bufferFull, detail: nil))]
        }
    }

    // MARK: The current request

    private mutating func finished(_ outcome: SendOutcome, isFailureReported: Bool) -> [Effect] {
        switch outcome {
        case .delivered: return self.delivered() + self.sendNext()
        case .refused(let status): return self.loseFirst(.refused, detail: "status \(status)") + self.sendNext()
        case .failed(let failure):
            self.state = .pausing
            return (isFailureReported ? [] : [.report(self.failed(failure))]) + [.pause]
        case .cancelled:
            self.state = .stopped
            return []
        }
    }

    private mutating func delivered() -> [Effect] {
        guard let batch = self.queue.removeFirst() else { return [] }
        defer { self.reportedIssues = [] }
        let event = RemoteWriteEvent.delivered(
            samples: batch.samples, pending: self.queue.bytes, isNews: !self.reportedIssues.isEmpty)
        return [.remove(batch), .report(event)]
    }

    private mutating func loseFirst(_ loss: RemoteWriteLoss, detail: String?) -> [Effect] {
        guard let batch = self.queue.removeFirst() else { return [] }
        return [
            .remove(batch),
            .report(self.lost(batch.samples, loss, detail: detail ?? "batch \(batch.sequence)")),
        ]
    }

    private mutating func sendNext() -> [Effect] {
        guard let batch = self.queue.first else {
            self.state = .idle
            return []
        }
        self.state = .sending(isFailureReported: false)
        return [.send(batch)]
    }

    private mutating func sendIfIdle() -> [Effect] { self.state == .idle ? self.sendNext() : [] }

    // MARK: Events

    private mutating func failed(_ failure: RemoteWriteFailure) -> RemoteWriteEvent {
        let issue = Issue.failure(failure.reason, status: failure.status)
        return .failed(failure, isNews: self.reportedIssues.insert(issue).inserted)
    }

    private mutating func lost(_ samples: Int, _ loss: RemoteWriteLoss, detail: String?) -> RemoteWriteEvent {
        .dropped(
            loss, samples: samples, detail: detail, pending: self.queue.bytes,
            isNews: self.reportedIssues.insert(.loss(loss)).inserted)
    }
}

/// The result of sending a batch.
enum SendOutcome: Sendable, Hashable {
    /// The receiver has accepted it.
    case delivered
    /// The receiver will never accept it (remote write 1.0: 4xx except 429).
    case refused(status: Int)
    /// It will be sent again later; contains the failure.
    case failed(RemoteWriteFailure)
    /// The session has ended.
    case cancelled

    init(_ result: TaskResult) {
        switch result.outcome {
        case .success: self = .delivered
        case .cancelled: self = .cancelled
        case .failure:
            let failure = RemoteWriteFailure(
                result.failure ?? .internal, status: result.status, party: result.attribution?.party,
                explanation: result.explanation)
            if result.failure == .httpStatus, let status = result.status, SendOutcome.isRefusal(status) {
                self = .refused(status: status)
            } else {
                self = .failed(failure)
            }
        }
    }

    /// True for a status after which the same samples must not be sent again.
    static func isRefusal(_ status: Int) -> Bool { (400...499).contains(status) && status != 429 }
}

/// The batches waiting to be sent, oldest first, within a size limit.
struct BatchQueue: Sendable {
    private(set) var batches: [SampleBatch] = []
    private(set) var bytes: Int64 = 0
    /// The maximum total size of the batches in bytes.
    let bound: Int64

    var first: SampleBatch? { self.batches.first }
    var samples: Int { self.batches.reduce(0) { $0 + $1.samples } }

    /// Adds the newest batch.
    mutating func append(_ batch: SampleBatch) {
        self.batches.append(batch)
        self.bytes += batch.bytes
    }

    /// Removes the oldest batch.
    mutating func removeFirst() -> SampleBatch? {
        guard !self.batches.isEmpty else { return nil }
        let batch = self.batches.removeFirst()
        self.bytes -= batch.bytes
        return batch
    }

    /// Removes the oldest batches until the rest fits the limit.
    ///
    /// Keeps the first batch if it is being sent, and always keeps the newest one.
    mutating func removeExcess(isSendingFirst: Bool) -> [SampleBatch] {
        let start = isSendingFirst ? 1 : 0
        var (end, bytes) = (start, self.bytes)
        while bytes > self.bound, end < self.batches.count - 1 {
            bytes -= self.batches[end].bytes
            end += 1
        }
        guard end > start else { return [] }
        defer {
            self.batches.removeSubrange(start..<end)
            self.bytes = bytes
        }
        return Array(self.batches[start..<end])
    }
}

/// The samples of one request.
struct SampleBatch: Sendable, Hashable {
    /// The location of the request's body.
    enum Location: Sendable, Hashable {
        /// In the queue's file.
        case file
        /// In memory, because it could not be written to the file.
        case memory([UInt8])
    }

    /// Its position in the sending order.
    let sequence: Int64
    /// The number of samples.
    let samples: Int
    /// The bytes that count towards the queue's limit: whole pages of the file.
    let bytes: Int64
    var location = Location.file

    private static let pageSize = 4096

    /// A batch whose body has `length` bytes.
    init(sequence: Int64, samples: Int, length: Int, location: Location = .file) {
        self.sequence = sequence
        self.samples = samples
        self.bytes = Int64((max(1, length) + SampleBatch.pageSize - 1) / SampleBatch.pageSize * SampleBatch.pageSize)
        self.location = location
    }
}
