import Tidegate

/// What requests cost that wait for their answer.
struct Waiting {
    let url: String
    let count: Int
    let seconds: Int

    func run() async throws {
        var configuration = MonitorConfiguration()
        configuration.session.maxConnectionsPerHost = self.count
        let monitor = try Monitor(configuration)
        _ = await monitor.reachability.firstStatus(within: .seconds(5))
        let request = try TaskRequest(url: self.url)
        let tasks = (0..<self.count).map { _ in monitor.session.makeTask(request) }
        for task in tasks { task.resume() }
        // A warm-up: connections are made, and everything has been used once.
        try await Task.sleep(for: .seconds(1))
        let cpu = Gets.cpuMicroseconds()
        try await Task.sleep(for: .seconds(self.seconds))
        let result: JSONValue = [
            "running": .number(Double(tasks.count { $0.state == .running(attempt: 1) })),
            "cpuMilliseconds": .number((Gets.cpuMicroseconds() - cpu) / 1000),
        ]
        print(result)
        await monitor.stop()
    }
}
