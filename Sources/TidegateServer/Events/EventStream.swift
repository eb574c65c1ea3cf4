internal import HTTPTypes
internal import HummingbirdCore
internal import NIOCore
internal import TidegateCore

/// Sends events to one client for as long as both want.
struct EventStream {
    let configuration: EndpointConfiguration
    let history: EventHistory
    let follower: EventHistory.Reader
    /// Progress comes this way: it is neither kept nor repeated.
    let progress: Subscription
    let view: any MonitorView
    let time: any TimeSource

    init(
        configuration: EndpointConfiguration, history: EventHistory, follower: EventHistory.Reader, bus: EventBus,
        view: any MonitorView, time: any TimeSource
    ) {
        self.configuration = configuration
        self.history = history
        self.follower = follower
        self.view = view
        self.time = time
        self.progress = bus.subscribe(.sse, bufferingNewest: configuration.eventsKept) { event in
            guard case .task(let task) = event.payload, case .progress = task.kind else { return false }
            return true
        }
    }

    /// Writes until the follower ends, the client goes, or a client does not read for the time of a write.
    ///
    /// - Parameter asked: The id that the client gave, if it gave one.
    func run(
        after asked: String?, head: HTTPResponse, with writer: consuming ResponseWriter, on channel: any Channel
    ) async throws {
        let (follower, progress) = (self.follower, self.progress)
        channel.closeFuture.whenComplete { _ in follower.end() }
        let beat = EventStream.every(self.configuration.heartbeat, on: channel) { follower.wake() }
        let look = EventStream.every(self.configuration.progressInterval, on: channel) {
            if progress.hasWaiting { follower.wake() }
        }
        defer {
            beat.cancel()
            look.cancel()
            progress.cancel()
        }
        var body = try await writer.writeHead(head)
        try await self.write(self.beginning(after: asked), to: &body, on: channel)
        while let next = await follower.next() {
            let text = self.text(of: next)
            try await self.write(text.isEmpty ? EventFrame.heartbeat : text, to: &body, on: channel)
        }
        try await body.finish(nil)
    }

    private func beginning(after asked: String?) -> String {
        let retry = "retry: 2000\n\n"
        guard !self.follower.isResumed else { return retry }
        let snapshot = EventSnapshot(
            reason: asked == nil ? .snapshot : .reset, view: self.view, time: self.time.wall())
        return retry + snapshot.text(id: self.follower.lastID)
    }

    private func text(of next: EventHistory.Batch) -> String {
        let redaction = self.configuration.redaction
        var text = EventFrame.progress(self.progress.takeWaiting(), redaction: redaction)
        if next.dropped > 0 {
            text += EventSnapshot(reason: .reset, view: self.view, time: self.time.wall(), dropped: next.dropped)
                .text(id: nil)
        }
        for event in next.events {
            text += EventFrame.text(event, id: self.history.id(of: event), redaction: redaction)
        }
        return text
    }

    private func write(_ text: String, to body: inout some ResponseBodyWriter, on channel: any Channel) async throws {
        let timer = channel.eventLoop.scheduleTask(in: .init(self.configuration.writeTimeout)) {
            channel.close(promise: nil)
        }
        defer { timer.cancel() }
        try await body.write(ByteBuffer(string: text))
    }

    private static func every(
        _ period: Duration, on channel: any Channel, _ work: @escaping @Sendable () -> Void
    ) -> RepeatedTask {
        channel.eventLoop.scheduleRepeatedTask(initialDelay: .init(period), delay: .init(period)) { _ in work() }
    }
}
