import Glibc
import Synchronization
import Tidegate

/// Small GETs over kept-alive connections, with the bus and the metrics on, as the sidecar makes them.
struct Gets {
    let url: String
    let count: Int
    let inFlight: Int
    var tls = ServerTrustPolicy()
    var recordsExchanges = false

    func run() async throws {
        var configuration = MonitorConfiguration()
        (configuration.session.maxConnectionsPerHost, configuration.session.maxConnections) = (
            self.inFlight, self.inFlight
        )
        configuration.session.tls = self.tls
        configuration.session.recordsExchanges = self.recordsExchanges
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
        let load = Load(try TaskRequest(url: self.url), count: count, on: monitor.session)
        if let failed = await load.run(inFlight: self.inFlight) { throw Failed(result: failed) }
    }

    static func cpuMicroseconds() -> Double {
        var usage = rusage()
        getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
        func microseconds(_ time: timeval) -> Double { Double(time.tv_sec) * 1e6 + Double(time.tv_usec) }
        return microseconds(usage.ru_utime) + microseconds(usage.ru_stime)
    }
}

/// Keeps a fixed number of requests under way: the end of each one starts the next.
private final class Load: Sendable {
    private struct State {
        var unstarted: Int
        var unfinished: Int
        var failed: TaskResult?
        var waiting: CheckedContinuation<TaskResult?, Never>?
    }

    private let request: TaskRequest
    private let session: Session
    private let state: Mutex<State>

    init(_ request: TaskRequest, count: Int, on session: Session) {
        self.request = request
        self.session = session
        self.state = Mutex(State(unstarted: count, unfinished: count))
    }

    /// Waits for the end of all; gives one that failed.
    func run(inFlight: Int) async -> TaskResult? {
        await withCheckedContinuation { waiting in
            self.state.withLock { $0.waiting = waiting }
            for _ in 0..<inFlight { self.start() }
        }
    }

    private func start() {
        let isNeeded = self.state.withLock { state in
            guard state.unstarted > 0 else { return false }
            state.unstarted -= 1
            return true
        }
        guard isNeeded else { return }
        let task = self.session.makeTask(self.request) { _, result in self.ended(result) }
        task.resume()
    }

    private func ended(_ result: TaskResult) {
        if result.outcome != .success { self.state.withLock { $0.failed = result } }
        let isLast = self.state.withLock { state in
            state.unfinished -= 1
            return state.unfinished == 0
        }
        guard isLast else { return self.start() }
        let (waiting, failed) = self.state.withLock { ($0.waiting.take(), $0.failed) }
        waiting?.resume(returning: failed)
    }
}

struct Failed: Error {
    let result: TaskResult
}
