internal import ServiceLifecycle

/// Runs the configured tasks until the shutdown, which cancels them.
struct ScheduleService: Service {
    let scheduler: Scheduler
    let tasks: [ScheduledTask]

    func run() async throws {
        await self.scheduler.load(self.tasks)
        try? await gracefulShutdown()
        await self.scheduler.stop()
    }
}
