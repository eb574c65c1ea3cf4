internal import TidegateCore

/// Decides what is sent, one segment at a time and the oldest first, and what is lost.
struct WriterMachine {
    /// What it is told.
    enum Input: Sendable, Hashable {
        /// An earlier process left these, oldest first.
        case found([Segment])
        /// A new segment is on the disk.
        case kept(Segment)
        /// The disk did not take a new segment; in whose words.
        case unkept(Segment, String)
        /// One try of the segment under way failed.
        case tryFailed(RemoteWriteFailure)
        /// The segment under way is through.
        case ended(SendOutcome)
        /// The segment to send has no body any more.
        case damaged
        /// The pause after a failure is over.
        case rested
        case stop
    }

    /// What is to be done.
    enum Effect: Sendable, Hashable {
        case send(Segment)
        case remove(Segment)
        case rest
        case tell(RemoteWriteEvent)
    }

    private enum State: Hashable {
        case idle
        /// The queue's first segment is with the session; true once a failure of it was told.
        case sending(isTold: Bool)
        /// The queue's first segment waits for its next turn.
        case resting
        case stopped
    }

    private enum Trouble: Hashable {
        case failure(TaskFailure, status: Int?)
        case loss(RemoteWriteLoss)
    }

    private var state = State.idle
    private var queue: SegmentQueue
    // What was told since the last delivery: nobody reads the same line every few seconds.
    private var told: Set<Trouble> = []

    init(bound: Int64) { self.queue = SegmentQueue(bound: bound) }

    mutating func handle(_ input: Input) -> [Effect] {
        switch (self.state, input) {
        case (.stopped, _): return []
        case (_, .stop):
            self.state = .stopped
            return []
        case (_, .found(let segments)): return self.found(segments)
        case (_, .kept(let segment)): return self.kept(segment)
        case (_, .unkept(let segment, let words)): return self.unkept(segment, words)
        case (.sending, .tryFailed(let failure)):
            if let status = failure.status, SendOutcome.isRefusal(status) { return [] }
            self.state = .sending(isTold: true)
            return [.tell(self.failed(failure))]
        case (.sending(let isTold), .ended(let outcome)): return self.ended(outcome, isTold: isTold)
        case (.sending, .damaged): return self.lose(.damaged, detail: nil) + self.next()
        case (.resting, .rested): return self.next()
        case (.idle, .tryFailed), (.idle, .ended), (.idle, .damaged), (.idle, .rested), (.sending, .rested),
            (.resting, .tryFailed), (.resting, .ended), (.resting, .damaged):
            return []
        }
    }

    // MARK: New segments

    private mutating func found(_ segments: [Segment]) -> [Effect] {
        for segment in segments { self.queue.append(segment) }
        let opened = RemoteWriteEvent.opened(samples: self.queue.samples, pending: self.queue.bytes)
        return [.tell(opened)] + self.shrink() + self.nextIfIdle()
    }

    private mutating func kept(_ segment: Segment) -> [Effect] {
        self.queue.append(segment)
        let kept = RemoteWriteEvent.kept(samples: segment.samples, pending: self.queue.bytes)
        return [.tell(kept)] + self.shrink() + self.nextIfIdle()
    }

    // Without the disk there is room for one segment, the one that can be sent at once.
    private mutating func unkept(_ segment: Segment, _ words: String) -> [Effect] {
        guard self.state == .idle, self.queue.first == nil else {
            return [.tell(self.lost(segment, .disk, detail: words))]
        }
        self.queue.append(segment)
        return self.next()
    }

    private mutating func shrink() -> [Effect] {
        self.queue.shrink(isBusy: self.state != .idle).flatMap { segment -> [Effect] in
            [.remove(segment), .tell(self.lost(segment, .bufferFull, detail: nil))]
        }
    }

    // MARK: The segment under way

    private mutating func ended(_ outcome: SendOutcome, isTold: Bool) -> [Effect] {
        switch outcome {
        case .delivered: return self.delivered() + self.next()
        case .refused(let status): return self.lose(.refused, detail: "status \(status)") + self.next()
        case .failed(let failure):
            self.state = .resting
            return (isTold ? [] : [.tell(self.failed(failure))]) + [.rest]
        case .cancelled:
            self.state = .stopped
            return []
        }
    }

    private mutating func delivered() -> [Effect] {
        guard let segment = self.queue.removeFirst() else { return [] }
        defer { self.told = [] }
        let isNews = !self.told.isEmpty
        let event = RemoteWriteEvent.delivered(
            samples: segment.samples, pending: self.queue.bytes, isNews: isNews)
        return [.remove(segment), .tell(event)]
    }

    private mutating func lose(_ loss: RemoteWriteLoss, detail: String?) -> [Effect] {
        guard let segment = self.queue.removeFirst() else { return [] }
        return [.remove(segment), .tell(self.lost(segment, loss, detail: detail))]
    }

    private mutating func next() -> [Effect] {
        guard let segment = self.queue.first else {
            self.state = .idle
            return []
        }
        self.state = .sending(isTold: false)
        return [.send(segment)]
    }

    private mutating func nextIfIdle() -> [Effect] { self.state == .idle ? self.next() : [] }

    // MARK: Events

    private mutating func failed(_ failure: RemoteWriteFailure) -> RemoteWriteEvent {
        .failed(failure, isNews: self.told.insert(.failure(failure.reason, status: failure.status)).inserted)
    }

    private mutating func lost(_ segment: Segment, _ loss: RemoteWriteLoss, detail: String?) -> RemoteWriteEvent {
        .dropped(
            loss, samples: segment.samples, detail: detail ?? (loss == .damaged ? segment.fileName : nil),
            pending: self.queue.bytes, isNews: self.told.insert(.loss(loss)).inserted)
    }
}
