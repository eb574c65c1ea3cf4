import Glibc
import Tidegate

/// Small GETs over kept-alive connections, with the bus and the metrics on, as the sidecar makes them.
struct Gets {
    let url: String
    let count: Int
    let inFlight: Int

    func run() async throws {
        let configuration = MonitorConfiguration(
            session: try SessionConfiguration(maxConnectionsPerHost: self.inFlight, maxConnections: self.inFlight))
        let monitor = try Monitor(configuration)
        _ = await monitor.reachability.firstStatus(within: .seconds(5))
        try await self.makeRequests(self.inFlight * 10, with: monitor)
        let (start, cpu) = (ContinuousClock.now, Self.cpuMicroseconds())
        try await self.makeRequests(self.count, with: monitor)
        let seconds = (ContinuousClock.now - start).inSeconds
        let spent = Self.cpuMicroseconds() - cpu
        let result: JSONValue = [
            "perSecond": .number(Double(self.count) / seconds),
            "cpuMicroseconds": .number(spent / Double(self.count)),
        ]
        print(result)
        await monitor.stop()
    }

    private func makeRequests(_ count: Int, with monitor: Monitor) async throws {
        let request = try TaskRequest(url: self.url)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for worker in 0..<self.inFlight {
                let share = count / self.inFlight + (worker < count % self.inFlight ? 1 : 0)
                group.addTask {
                    for _ in 0..<share {
                        let task = monitor.session.task(request)
                        task.resume()
                        let result = await task.result()
                        guard result.outcome == .success else { throw Failed(result: result) }
                    }
                }
            }
            try await group.waitForAll()
        }
    }

    private static func cpuMicroseconds() -> Double {
        var usage = rusage()
        getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
        func microseconds(_ time: timeval) -> Double { Double(time.tv_sec) * 1e6 + Double(time.tv_usec) }
        return microseconds(usage.ru_utime) + microseconds(usage.ru_stime)
    }
}

struct Failed: Error {
    let result: TaskResult
}
