internal import HummingbirdCore
internal import NIOCore
internal import TidegateCore

/// Sends events to one client until either side ends the stream.
struct EventStream {
    let configuration: EndpointConfiguration
    let history: EventHistory
    let reader: EventHistory.Reader
    let bus: EventBus
    let view: any MonitorView
    let time: any TimeSource

    /// Writes until the reader ends, the connection closes, or a write takes longer than the write timeout.
    ///
    /// - Parameter lastID: The `Last-Event-ID` of the client; nil if it sent none.
    func run(after lastID: String?, to body: inout any ResponseBodyWriter, on channel: any Channel) async throws {
        // Progress is neither kept in the history nor repeated.
        let progress = self.bus.subscribe(.sse, bufferingNewest: self.configuration.eventsKept) { event in
            guard case .task(let task) = event.payload, case .progress = task.kind else { return false }
            return true
        }
        let reader = self.reader
        let heartbeat = Self.every(self.configuration.heartbeat, on: channel) { reader.wake() }
        let progressTimer = Self.every(self.configuration.progressInterval, on: channel) {
            if progress.hasWaiting { reader.wake() }
        }
        defer {
            heartbeat.cancel()
            progressTimer.cancel()
            progress.cancel()
        }
        try await self.write(self.beginning(after: lastID), to: &body, on: channel)
        while let batch = await reader.next() {
            let text = self.text(of: batch, progress: progress.takeWaiting())
            try await self.write(text.isEmpty ? EventFrame.heartbeat : text, to: &body, on: channel)
        }
        try await body.finish(nil)
    }

    private func beginning(after lastID: String?) -> String {
        let retry = "retry: 2000\n\n"
        guard !self.reader.isResumed else { return retry }
        let snapshot = EventSnapshot(
            reason: lastID == nil ? .snapshot : .reset, view: self.view, time: self.time.wall())
        return retry + snapshot.text(id: self.reader.lastID)
    }

    private func text(of batch: EventHistory.Batch, progress: [Event]) -> String {
        let redaction = self.configuration.redaction
        var text = EventFrame.progress(progress, redaction: redaction)
        if batch.dropped > 0 {
            text += EventSnapshot(reason: .reset, view: self.view, time: self.time.wall(), dropped: batch.dropped)
                .text(id: nil)
        }
        for event in batch.events {
            text += EventFrame.text(event, id: self.history.id(of: event), redaction: redaction)
        }
        return text
    }

    private func write(_ text: String, to body: inout any ResponseBodyWriter, on channel: any Channel) async throws {
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
