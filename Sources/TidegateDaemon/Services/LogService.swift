internal import Logging
internal import ServiceLifecycle
internal import Tidegate
internal import TidegateCore

/// Writes the bus's events to the log.
struct LogService: Service {
    private let events: Subscription
    private let logger: Logger

    /// A log of everything that `bus` carries from now on.
    init(bus: EventBus, logger: Logger) {
        self.events = bus.subscribe(.log, bufferingNewest: 1024, where: EventRecord.isWorthwhile)
        self.logger = logger
    }

    func run() async throws {
        var dropped: UInt64 = 0
        // Everything kept is still written after the shutdown began.
        await withGracefulShutdownHandler {
            for await event in self.events {
                if let record = EventRecord(event) {
                    self.logger.log(level: record.level, "\(record.message)", metadata: record.fields)
                }
                guard self.events.dropped > dropped else { continue }
                self.logger.warning("log lines dropped", metadata: ["count": "\(self.events.dropped - dropped)"])
                dropped = self.events.dropped
            }
        } onGracefulShutdown: {
            self.events.cancel()
        }
    }
}
