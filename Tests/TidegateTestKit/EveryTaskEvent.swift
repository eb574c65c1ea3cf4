package import TidegateCore

extension EveryEvent {
    /// The events of tasks of one kind: one that succeeds at its second attempt, one that fails, one that is cancelled.
    package static func tasks(of kind: TaskKind) -> [Event.Payload] {
        self.success(kind) + self.failure(kind) + self.cancellation(kind)
    }

    /// An attempt on a new connection; 200 if it succeeded.
    package static func attempt(
        _ number: Int, status: Int? = 200, isReused: Bool = false, method: String = "GET", host: String? = "10.0.0.1",
        certificateEnd: String = "Jan  3 00:00:00 2027 GMT"
    ) -> AttemptSummary {
        AttemptSummary(
            number: number, method: method, host: host, status: status, duration: .milliseconds(30),
            phases: isReused
                ? PhaseDurations(processing: .milliseconds(4), transfer: .milliseconds(20))
                : PhaseDurations(
                    resolve: .milliseconds(1), connect: .milliseconds(2), tls: .milliseconds(3),
                    processing: .milliseconds(4), transfer: .milliseconds(20)),
            receivedWire: 2000, sent: 300, connectionsOpened: isReused ? 0 : 1,
            tls: TLSDetails(
                version: "TLSv1.3", cipher: "TLS_AES_256_GCM_SHA384",
                chain: [
                    CertificateSummary(
                        subject: "CN = 10.0.0.1", issuer: "CN = Test Authority", notAfter: certificateEnd,
                        names: ["10.0.0.1"])
                ]))
    }

    private static func success(_ kind: TaskKind) -> [Event.Payload] {
        let id = self.id(1, kind)
        let reset = Attribution(party: .theirs, rung: .http, evidence: ["status 503"])
        let result = TaskResult(
            id: id, kind: kind, method: "GET", url: "http://10.0.0.1/file", outcome: .success, status: 200, bytes: 2000,
            wireBytes: 2000, attempts: 2, duration: .milliseconds(800), isRevalidated: kind == .download)
        let changes: [TaskEvent.Kind] = [
            .created(method: "GET", url: "http://10.0.0.1/file"), .resumed, .held(.path, detail: "no route"),
            .released(.path, after: .milliseconds(1500)), .gate(.delayed, waited: .milliseconds(1500)),
            .attemptStarted(number: 1), .responseHead(status: 503, expectedBytes: nil),
            .attemptFailed(self.attempt(1, status: 503), .httpStatus, reset, isCharged: true),
            .retryScheduled(.status(503), delay: .milliseconds(200)), .held(.backoff, detail: nil),
            .released(.backoff, after: .milliseconds(200)), .gate(.immediate, waited: .zero),
            .attemptStarted(number: 2), .responseHead(status: 200, expectedBytes: 2000),
            .progress(TransferProgress(receivedWire: 2000, expected: 2000), delta: .init(received: 2000, sent: 300)),
            .continued(offset: 100, total: 2000), .restarted(discarded: 100), .refetched(bytes: 100),
            .attemptSucceeded(self.attempt(2, isReused: true)),
            .moved(file: "/tmp/file"), .completed(result),
        ]
        return changes.map { .task(TaskEvent(id: id, taskKind: kind, kind: $0)) }
    }

    private static func failure(_ kind: TaskKind) -> [Event.Payload] {
        let id = self.id(2, kind)
        let mine = Attribution(party: .mine, rung: .carrier, evidence: ["carrier lost"])
        let changes: [TaskEvent.Kind] = [
            .created(method: "GET", url: "http://10.0.0.1/file"), .resumed, .gate(.timeout, waited: .seconds(10)),
            .attemptFailed(self.attempt(1, status: nil), .connectFailed, mine, isCharged: true),
            .moveFailed(file: "/tmp/file", errorNumber: 28),
        ]
        let retries = TaskEvent.ExhaustionReason.allCases.map { TaskEvent.Kind.retriesExhausted($0) }
        let ending = TaskEvent.Kind.completed(
            TaskResult(
                id: id, kind: kind, method: "GET", url: "http://10.0.0.1/file", outcome: .failure, attempts: 1,
                duration: .seconds(12), failure: .connectFailed, attribution: mine))
        return (changes + retries + [ending]).map { .task(TaskEvent(id: id, taskKind: kind, kind: $0)) }
    }

    private static func cancellation(_ kind: TaskKind) -> [Event.Payload] {
        let id = self.id(3, kind)
        let holds = HoldReason.allCases.flatMap {
            [TaskEvent.Kind.held($0, detail: nil), .released($0, after: .milliseconds(100))]
        }
        let changes: [TaskEvent.Kind] = [
            .created(method: "GET", url: "http://10.0.0.1/file"), .resumed, .suspended(.user), .suspended(.shutdown),
            .gate(.cancelled, waited: .seconds(1)),
        ]
        let ending = TaskEvent.Kind.completed(
            TaskResult(
                id: id, kind: kind, method: "GET", url: "http://10.0.0.1/file", outcome: .cancelled,
                duration: .seconds(1), failure: .cancelled))
        return (changes + holds + [ending]).map { .task(TaskEvent(id: id, taskKind: kind, kind: $0)) }
    }

    private static func id(_ number: Int64, _ kind: TaskKind) -> TaskID {
        var still = StillGenerator()
        let time = WallTime(microseconds: 1_790_000_000_000_000 + number * 1000)
        return TaskID(at: time, using: &still)
    }

    private struct StillGenerator: RandomNumberGenerator {
        mutating func next() -> UInt64 { 7 }
    }
}
