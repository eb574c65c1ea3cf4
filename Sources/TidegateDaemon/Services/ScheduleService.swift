internal import ServiceLifecycle
internal import Tidegate

/// Runs the scheduled tasks until shutdown, which cancels them.
struct ScheduleService: Service {
    let scheduler: Scheduler
    let tasks: [ScheduledTask]
    let session: Session

    func run() async throws {
        await self.scheduler.load(self.tasks)
        try? await gracefulShutdown()
        async let stop: Void = self.scheduler.stop()
        // Runs are cancelled in time even if a disk hangs.
        await self.session.invalidate(cancellingTasks: true)
        await stop
    }
}
