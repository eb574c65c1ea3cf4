internal import ServiceLifecycle
internal import Tidegate
internal import TidegateModel

/// Tells the bus that the daemon is stopping, before anything has stopped.
struct StopService: Service {
    let bus: EventBus

    func run() async throws {
        try? await gracefulShutdown()
        self.bus.publish(.daemon(.stopping))
    }
}
