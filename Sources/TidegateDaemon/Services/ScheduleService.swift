internal import ServiceLifecycle
internal import Tidegate

/// Runs the configured tasks until the shutdown, which cancels them.
struct ScheduleService: Service {
    let scheduler: Scheduler
    let tasks: [ScheduledTask]
    let session: Session

    func run() async throws {
        await self.scheduler.load(self.tasks)
        try? await gracefulShutdown()
        async let stop: Void = self.scheduler.stop()
        // Its runs end in time also where the disk does not answer.
        await self.session.invalidate(cancellingTasks: true)
        await stop
    }
}
