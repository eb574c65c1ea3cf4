import Foundation
import FoundationNetworking
import Glibc

/// Small GETs with URLSession: so many tasks, each with one request after the other.
@main
struct SessionGets {
    static func main() async throws {
        let tokens = CommandLine.arguments
        guard tokens.count == 4, let url = URL(string: tokens[1]), let count = Int(tokens[2]),
            let inFlight = Int(tokens[3])
        else { throw Usage() }
        let configuration = URLSessionConfiguration.ephemeral
        configuration.httpMaximumConnectionsPerHost = inFlight
        configuration.urlCache = nil
        let session = URLSession(configuration: configuration)
        try await SessionGets.get(url, inFlight * 10, inFlight, with: session)
        let (start, cpu) = (ContinuousClock.now, cpuMicroseconds())
        try await SessionGets.get(url, count, inFlight, with: session)
        let seconds = (ContinuousClock.now - start) / .seconds(1)
        let spent = (cpuMicroseconds() - cpu) / Double(count)
        print("{\"perSecond\":\(Double(count) / seconds),\"cpuMicroseconds\":\(spent)}")
    }

    private static func get(_ url: URL, _ count: Int, _ inFlight: Int, with session: URLSession) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for worker in 0..<inFlight {
                group.addTask {
                    for _ in 0..<(count / inFlight + (worker < count % inFlight ? 1 : 0)) {
                        let (_, answer) = try await session.data(from: url)
                        guard (answer as? HTTPURLResponse)?.statusCode == 200 else { throw Usage() }
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
