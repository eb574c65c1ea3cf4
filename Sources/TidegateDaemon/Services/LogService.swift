internal import Logging
internal import ServiceLifecycle
internal import Tidegate

/// Logs the events of the bus.
struct LogService: Service {
    private let events: Subscription
    private let logger: Logger
    private let time: any TimeSource

    /// Logs events from now on.
    init(bus: EventBus, logger: Logger, time: any TimeSource = SystemClock()) {
        self.time = time
        self.events = bus.subscribe(.log, bufferingNewest: 1024, where: EventRecord.isLoggable)
        self.logger = logger
    }

    func run() async throws {
        var dropped: UInt64 = 0
        var nextNotice = MonotonicTime(nanoseconds: 0)
        // Buffered events are still logged after the shutdown has begun.
        await withGracefulShutdownHandler {
            for await event in self.events {
                if let record = EventRecord(event) {
                    self.logger.log(level: record.level, "\(record.message)", metadata: record.fields)
                }
                guard self.events.dropped > dropped, self.time.monotonic() >= nextNotice else { continue }
                self.logger.warning(
                    "log events dropped", metadata: ["count": .stringConvertible(self.events.dropped - dropped)])
                dropped = self.events.dropped
                nextNotice = self.time.monotonic() + .seconds(1)
            }
        } onGracefulShutdown: {
            self.events.cancel()
        }
    }
}
