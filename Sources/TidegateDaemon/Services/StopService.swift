internal import ServiceLifecycle
internal import Tidegate
internal import TidegateCore

/// Tells the bus that the daemon is stopping, before anything has stopped.
struct StopService: Service {
    let bus: EventBus
    let watch: ShutdownWatchdog

    func run() async throws {
        try? await gracefulShutdown()
        self.watch.start()
        self.bus.publish(.daemon(.stopping))
    }
}
