import Glibc
import Tidegate
import TidegateMetrics

/// What one event costs its publisher, in nanoseconds: with the metrics and the history as sinks, and with four
/// subscribers besides.
struct Publish {
    let count: Int

    func run() {
        let time = SystemClock()
        let bus = EventBus(time: time)
        bus.attach(
            Recorder(
                metrics: MetricsRecorder(build: BuildInfo.current, start: time.monotonic(), wall: time.wall())))
        bus.attach(EventHistory(boot: "bench"))
        let changes = Self.changes(at: time.wall())
        _ = self.nanoseconds(changes, on: bus)
        let alone = self.nanoseconds(changes, on: bus)
        let subscriptions = (0..<4).map { _ in bus.subscribe(.library) }
        let received = self.nanoseconds(changes, on: bus)
        let result: JSONValue = ["sinks": .number(alone), "subscribers": .number(received)]
        print(result)
        for subscription in subscriptions { subscription.cancel() }
    }

    private func nanoseconds(_ changes: [Event.Payload], on bus: EventBus) -> Double {
        let rounds = self.count / changes.count
        let start = Self.threadNanoseconds()
        for _ in 0..<rounds { for change in changes { bus.publish(change) } }
        return (Self.threadNanoseconds() - start) / Double(rounds * changes.count)
    }

    /// The CPU time of the calling thread (clock_gettime(2)): others on the machine do not count.
    static func threadNanoseconds() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return Double(time.tv_sec) * 1e9 + Double(time.tv_nsec)
    }

    /// The events of one GET.
    private static func changes(at time: WallTime) -> [Event.Payload] {
        var generator = SystemRandomNumberGenerator()
        let id = TaskID(at: time, using: &generator)
        let progress = TransferProgress(receivedWire: 34, received: 34, expected: 34, attempt: 1)
        var phases = PhaseDurations()
        (phases.processing, phases.transfer) = (.microseconds(300), .microseconds(20))
        let summary = AttemptSummary(
            number: 1, method: "GET", status: 200, duration: .microseconds(400), phases: phases, receivedWire: 34,
            remote: IPAddress("127.0.0.1"), local: IPAddress("127.0.0.1"))
        let result = TaskResult(
            id: id, kind: .data, method: "GET", url: "http://127.0.0.1:9/small", outcome: .success, status: 200,
            bytes: 34, wireBytes: 34, attempts: 1, duration: .microseconds(450), phases: phases)
        let changes: [TaskEvent.Kind] = [
            .created(method: "GET", url: "http://127.0.0.1:9/small"), .resumed, .gate(.immediate, waited: .zero),
            .attemptStarted(number: 1), .responseHead(status: 200, expectedBytes: 34),
            .progress(progress, delta: TaskEvent.ByteCounts(received: 34)), .attemptSucceeded(summary),
            .completed(result),
        ]
        return changes.map { .task(TaskEvent(id: id, taskKind: .data, kind: $0)) }
    }
}

private struct Recorder: EventSink {
    let metrics: MetricsRecorder

    func receive(_ event: Event) { self.metrics.record(event) }
}
