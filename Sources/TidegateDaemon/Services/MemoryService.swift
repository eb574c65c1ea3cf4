internal import ServiceLifecycle
internal import Tidegate

/// Gives back the memory that only starting needed: half of the daemon's is code that runs once.
struct MemoryService: Service {
    /// How long after the start everything has started.
    var delay = Duration.seconds(3)

    func run() async throws {
        do {
            try await cancelWhenGracefulShutdown { try await Task.sleep(for: self.delay, clock: .continuous) }
            SystemMemory().giveBack()
        } catch {
            // It ends before it had started.
        }
        try? await gracefulShutdown()
    }
}
