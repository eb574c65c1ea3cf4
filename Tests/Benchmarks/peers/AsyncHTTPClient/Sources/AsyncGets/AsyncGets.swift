import AsyncHTTPClient
import Glibc
import NIOCore

/// Small GETs with AsyncHTTPClient: so many tasks, each with one request after the other.
@main
struct AsyncGets {
    static func main() async throws {
        let tokens = CommandLine.arguments
        guard tokens.count == 4, let count = Int(tokens[2]), let inFlight = Int(tokens[3]) else { throw Usage() }
        var configuration = HTTPClient.Configuration()
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = inFlight
        let client = HTTPClient(configuration: configuration)
        try await AsyncGets.get(tokens[1], inFlight * 10, inFlight, with: client)
        let (start, cpu) = (ContinuousClock.now, cpuMicroseconds())
        try await AsyncGets.get(tokens[1], count, inFlight, with: client)
        let seconds = (ContinuousClock.now - start) / .seconds(1)
        let spent = (cpuMicroseconds() - cpu) / Double(count)
        print("{\"perSecond\":\(Double(count) / seconds),\"cpuMicroseconds\":\(spent)}")
        try await client.shutdown()
    }

    private static func get(_ url: String, _ count: Int, _ inFlight: Int, with client: HTTPClient) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for worker in 0..<inFlight {
                group.addTask {
                    for _ in 0..<(count / inFlight + (worker < count % inFlight ? 1 : 0)) {
                        let answer = try await client.execute(HTTPClientRequest(url: url), timeout: .seconds(30))
                        guard answer.status == .ok else { throw Usage() }
                        _ = try await answer.body.collect(upTo: 1 << 20)
                    }
                }
            }
            try await group.waitForAll()
        }
    }
}

struct Usage: Error {}

private func cpuMicroseconds() -> Double {
    var usage = rusage()
    getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
    func microseconds(_ time: timeval) -> Double { Double(time.tv_sec) * 1e6 + Double(time.tv_usec) }
    return microseconds(usage.ru_utime) + microseconds(usage.ru_stime)
}
