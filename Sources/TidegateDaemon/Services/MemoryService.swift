internal import ServiceLifecycle
internal import Tidegate

/// Returns memory to the system after the start: half of the daemon's is code that runs once.
struct MemoryService: Service {
    /// The time after which the start is complete.
    var delay = Duration.seconds(3)

    func run() async throws {
        do {
            try await cancelWhenGracefulShutdown { try await Task.sleep(for: self.delay, clock: .continuous) }
            SystemMemory().giveBack()
        } catch {
            // The shutdown came first.
        }
        try? await gracefulShutdown()
    }
}
