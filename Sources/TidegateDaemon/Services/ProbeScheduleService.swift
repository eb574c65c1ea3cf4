internal import ServiceLifecycle
internal import Tidegate
internal import TidegateProbes

/// Runs the scheduled probes until shutdown.
struct ProbeScheduleService: Service {
    let scheduler: ProbeScheduler
    let probes: [ScheduledProbe]
    let bus: EventBus

    func run() async throws {
        let changes = self.bus.subscribe(.library) { event in
            if case .path(let path) = event.payload { path.isNewWayOut } else { false }
        }
        await self.scheduler.load(self.probes)
        for await event in changes.cancelOnGracefulShutdown() {
            guard case .path(let path) = event.payload, case .family(let family) = path.scope else { continue }
            await self.scheduler.pathChanged(family)
        }
        await self.scheduler.stop()
    }
}

extension PathEvent {
    /// True if packets of a family leave this host now as they did not before.
    fileprivate var isNewWayOut: Bool {
        guard case .family = self.scope, self.to.level >= .routed, let path = self.to.path else { return false }
        guard self.from.level >= .routed, let before = self.from.path else { return true }
        return !path.isSamePath(as: before)
    }
}

extension ProbeScheduler {
    /// A scheduler that makes the probes of `runner` on a monitor's host, and tells its bus.
    init(_ runner: ProbeRunner, monitor: Monitor, time: any TimeSource) {
        let bus = monitor.bus
        self.init(
            time: time,
            call: { delay, body in
                // Without netlink there is no thread that could call.
                guard !monitor.reachability.call(after: delay, body) else { return }
                Task {
                    try? await Task.sleep(for: delay)
                    body()
                }
            },
            publish: { bus.publish(.probe($0)) }, run: { await runner.run($0) })
    }
}
