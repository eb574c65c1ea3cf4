import Glibc
import Tidegate

/// Prints, in nanoseconds of CLOCK_MONOTONIC, every moment at which a path watch reported a lost path.
struct Gate {
    let target: String

    func run() async throws {
        let monitor = try Monitor()
        _ = await monitor.reachability.firstStatus(within: .seconds(5))
        let watch = monitor.reachability.watch(try Target(self.target)) { verdict in
            guard verdict.verdict.level == .none else { return }
            var time = timespec()
            clock_gettime(CLOCK_MONOTONIC, &time)
            Self.write("\(Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))")
        }
        Self.write("ready")
        // The benchmark ends this process; a day is longer than any.
        try await Task.sleep(for: .seconds(86_400))
        watch.cancel()
    }

    // Unbuffered: the benchmark waits for each line.
    private static func write(_ line: String) {
        let bytes = Array("\(line)\n".utf8)
        guard Glibc.write(1, bytes, bytes.count) == bytes.count else { exit(1) }
    }
}
