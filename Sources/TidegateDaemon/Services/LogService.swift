internal import Logging
internal import ServiceLifecycle
internal import TidegateBus
internal import TidegateModel

/// Writes the bus's events to the log.
struct LogService: Service {
    let bus: EventBus
    let logger: Logger

    func run() async throws {
        let subscription = self.bus.subscribe(.log, keepingNewest: 1024, where: EventRecord.isWorthwhile)
        var dropped: UInt64 = 0
        // Everything kept is still written after the shutdown began.
        await withGracefulShutdownHandler {
            for await event in subscription {
                if let record = EventRecord(event) {
                    self.logger.log(level: record.level, "\(record.message)", metadata: record.fields)
                }
                guard subscription.dropped > dropped else { continue }
                self.logger.warning("log lines dropped", metadata: ["count": "\(subscription.dropped - dropped)"])
                dropped = subscription.dropped
            }
        } onGracefulShutdown: {
            subscription.cancel()
        }
    }
}
