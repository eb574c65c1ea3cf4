internal import ServiceLifecycle
internal import Tidegate
internal import TidegateCore

/// Publishes that the daemon is stopping, before any other service stops, and starts the watchdog.
struct StopService: Service {
    let bus: EventBus
    let watchdog: ShutdownWatchdog

    func run() async throws {
        try? await gracefulShutdown()
        self.watchdog.start()
        self.bus.publish(.daemon(.stopping))
    }
}
