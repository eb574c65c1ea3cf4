package import TidegateCore
internal import TidegateLoop
package import TidegateMetrics
internal import TidegateSession

/// Sends samples to a receiver of Prometheus remote write 1.0, through tasks that wait for their path.
///
/// Samples are on the disk before they are sent, so that neither an outage nor the end of the process loses them. One
/// request is under way at a time, the oldest samples first.
///
/// The writer has a session and a bus of its own: its requests would fill the users' task lists, history and counters,
/// and samples about sending samples would never end. What becomes of the samples is reported as ``RemoteWriteEvent``.
package final class RemoteWriter: Sendable {
    /// What a writer needs from its surroundings.
    package struct Dependencies: Sendable {
        let paths: any PathSource
        let resolver: any NameResolver
        let time: any TimeSource
        let collect: @Sendable () -> [MetricSample]
        let onEvent: @Sendable (RemoteWriteEvent) -> Void

        /// `paths` opens and shuts the gate; `collect` returns the samples of a moment, and `onEvent` is called with
        /// what becomes of them, both on the writer's thread.
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
    private let thread: LoopThread<RemoteWriteWorker>

    /// Starts to collect samples and to send them.
    ///
    /// - Throws: ``TaskError`` if the configuration is invalid, or no thread can be started.
    package init(_ configuration: RemoteWriteConfiguration, dependencies: Dependencies) throws(TaskError) {
        // An invalid URL is refused now, and not with the first samples.
        _ = try TaskRequest(url: configuration.url)
        let bus = EventBus(time: dependencies.time)
        do {
            let session = try Session(
                configuration.session(), bus: bus, paths: dependencies.paths, resolver: dependencies.resolver,
                time: dependencies.time, generator: SystemRandomNumberGenerator())
            self.session = session
            self.thread = try LoopThread(name: "tg-remote") {
                RemoteWriteWorker(
                    loop: $0, session: session, configuration: configuration, dependencies: dependencies)
            }
        } catch let error as TaskError {
            throw error
        } catch {
            throw TaskError(reason: .internal, underlying: "remote write could not start: \(error)")
        }
        // Weak: the thread keeps the session, and the session keeps its bus and its tasks' completions.
        let reply: @Sendable (RemoteWriteWorker.Command) -> Void = { [weak thread = self.thread] in thread?.send($0) }
        bus.attach(FailedAttemptObserver(reply: reply))
        self.thread.send(.start(reply: reply))
    }

    deinit { self.thread.stop() }

    /// Collects and stores samples once more, then ends; what is not delivered is sent after the next start.
    package func stop() async {
        await withCheckedContinuation { continuation in
            if !self.thread.send(.stop { continuation.resume() }) { continuation.resume() }
        }
        await self.session.invalidate(cancellingTasks: true)
        self.thread.stop()
    }
}

/// Reports every failed attempt: a request that is retried for hours has no result to report meanwhile.
private struct FailedAttemptObserver: EventSink {
    let reply: @Sendable (RemoteWriteWorker.Command) -> Void

    func receive(_ event: Event) {
        guard case .task(let task) = event.payload,
            case .attemptFailed(let summary, let failure, let attribution, isCharged: _) = task.kind
        else { return }
        self.reply(
            .attemptFailed(RemoteWriteFailure(failure, status: summary.status, party: attribution?.party)))
    }
}
