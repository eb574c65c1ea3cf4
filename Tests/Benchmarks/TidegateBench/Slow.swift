import Tidegate

/// Transfers that go on for long: starts them, and waits to be ended.
struct Slow {
    let url: String
    let count: Int

    func run() async throws {
        var configuration = MonitorConfiguration()
        (configuration.session.maxConnectionsPerHost, configuration.session.maxConnections) = (self.count, self.count)
        let monitor = try Monitor(configuration)
        _ = await monitor.reachability.firstStatus(within: .seconds(5))
        var request = try TaskRequest(url: self.url)
        request.destination = .discard
        let tasks = (0..<self.count).map { _ in monitor.session.makeTask(request) }
        for task in tasks { task.resume() }
        try await Task.sleep(for: .seconds(600))
        await monitor.stop()
    }
}
