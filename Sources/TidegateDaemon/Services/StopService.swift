internal import ServiceLifecycle
internal import Tidegate
internal import TidegateCore

/// Stops something at shutdown, after the services that were started later.
struct ShutdownService: Service {
    let stop: @Sendable () async -> Void

    func run() async throws {
        try? await gracefulShutdown()
        await self.stop()
    }
}

/// Publishes that the daemon is stopping, before any other service stops, holds its tasks, and starts the watchdog.
struct StopService: Service {
    let bus: EventBus
    let session: Session
    let watchdog: ShutdownWatchdog

    func run() async throws {
        try? await gracefulShutdown()
        self.watchdog.start()
        self.bus.publish(.daemon(.stopping))
        // Until the session is invalidated, an attempt that started would only be cancelled.
        self.session.holdAll()
    }
}
