internal import ServiceLifecycle
internal import Tidegate

/// Stops the monitor at shutdown.
struct MonitorService: Service {
    let monitor: Monitor

    func run() async throws {
        // The endpoint and the scheduler, which use it, have stopped before.
        try? await gracefulShutdown()
        await self.monitor.stop()
    }
}
