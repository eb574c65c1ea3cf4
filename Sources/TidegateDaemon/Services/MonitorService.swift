internal import ServiceLifecycle
internal import Tidegate

/// Keeps a monitor for as long as the daemon runs.
struct MonitorService: Service {
    let monitor: Monitor

    func run() async throws {
        // The endpoint and the scheduler have stopped before: nobody asks the monitor any more.
        try? await gracefulShutdown()
        await self.monitor.stop()
    }
}
