internal import Tidegate
internal import TidegateCore
internal import TidegateProbes

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
