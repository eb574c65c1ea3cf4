package import TidegateCore
internal import TidegateLoop
package import TidegateMetrics
internal import TidegateSession

/// Sends samples to a receiver of Prometheus remote write 1.0, through tasks that wait for their path.
///
/// Everything taken is on the disk before it is sent, so that neither an outage nor the end of the process loses it; it
/// is sent one request at a time, the oldest first.
///
/// It has a session and a bus of its own: a task every few seconds that nobody asked for would hide those of users in
/// lists, histories and counters, and samples about sending samples would never rest. What became of the samples is
/// told by ``RemoteWriteEvent``.
package final class RemoteWriter: Sendable {
    /// What a writer is given by whoever makes it.
    package struct Surroundings: Sendable {
        let paths: any PathSource
        let resolver: any NameResolver
        let time: any TimeSource
        let collect: @Sendable () -> [MetricSample]
        let onEvent: @Sendable (RemoteWriteEvent) -> Void

        /// `paths` opens and shuts the gate; `collect` gives the samples of a moment, and `onEvent` hears what becomes
        /// of them, both on the writer's thread.
        package init(
            paths: any PathSource, resolver: any NameResolver, time: any TimeSource,
            collect: @escaping @Sendable () -> [MetricSample],
            onEvent: @escaping @Sendable (RemoteWriteEvent) -> Void = { _ in }
        ) {
            self.paths = paths
            self.resolver = resolver
            self.time = time
            self.collect = collect
            self.onEvent = onEvent
        }
    }

    private let session: Session
    private let line = WriterLine()

    /// Begins to take samples, and to send them.
    ///
    /// - Throws: ``TaskError`` where the configuration cannot be used, or the machine gives no thread.
    package init(_ configuration: RemoteWriteConfiguration, surroundings: Surroundings) throws(TaskError) {
        // Refused here and not with the first samples; secrets may still come.
        _ = try TaskRequest(url: configuration.url)
        let bus = EventBus(time: surroundings.time)
        bus.attach(TrySink(line: self.line))
        do {
            let session = try Session(
                try configuration.session(), bus: bus, paths: surroundings.paths, resolver: surroundings.resolver,
                time: surroundings.time, generator: SystemRandomNumberGenerator())
            self.session = session
            let tools = RemoteWriteWorker.Tools(
                configuration: configuration, time: surroundings.time, collect: surroundings.collect,
                onEvent: surroundings.onEvent, session: session, line: self.line)
            self.line.connect(try LoopThread(name: "tg-remote") { RemoteWriteWorker(loop: $0, tools: tools) })
        } catch let error as TaskError {
            throw error
        } catch {
            throw TaskError(reason: .internal, underlying: "remote write could not start: \(error)")
        }
        self.line.send(.start)
    }

    deinit { self.line.disconnect()?.stop() }

    /// Takes samples once more and keeps them, then ends; what is not delivered waits in the buffer for the next start.
    package func stop() async {
        await withCheckedContinuation { continuation in
            if !self.line.send(.stop { continuation.resume() }) { continuation.resume() }
        }
        await self.session.invalidate(cancellingTasks: true)
        self.line.disconnect()?.stop()
    }
}

/// Hears of the tries that failed: a task that is tried again and again has no end to hear of.
private struct TrySink: EventSink {
    let line: WriterLine

    func receive(_ event: Event) {
        guard case .task(let task) = event.payload,
            case .attemptFailed(let summary, let failure, let attribution, isCharged: _) = task.kind
        else { return }
        self.line.send(
            .tryFailed(RemoteWriteFailure(failure, status: summary.status, party: attribution?.party)))
    }
}
