import Foundation
import Glibc
import Synchronization
import Tidegate
import TidegateProbes

/// Probes as many targets every second: how late the runs start, how many are left out, and what they cost.
struct Probes {
    let url: String
    let count: Int
    let seconds: Int

    private struct Starts {
        var moments: [String: [MonotonicTime]] = [:]
        var succeeded = 0

        init(count: Int, seconds: Int) {
            for number in 0..<count {
                // Written to, so that it is resident from the beginning.
                var moments = [MonotonicTime](repeating: MonotonicTime(nanoseconds: 1), count: seconds + 2)
                moments.removeAll(keepingCapacity: true)
                self.moments["p\(number)"] = moments
            }
        }
    }

    func run() async throws {
        let monitor = try Monitor()
        _ = await monitor.reachability.firstStatus(within: .seconds(5))
        var configuration = ProbeRunner.Configuration()
        configuration.modules["m"] = ProbeModule(prober: .http())
        let runner = ProbeRunner(configuration, monitor: monitor)
        // What is measured must not grow by being measured.
        let starts = Mutex(Starts(count: self.count, seconds: self.seconds))
        let overruns = Atomic<Int>(0)
        let time = SystemClock()
        let scheduler = ProbeScheduler(
            time: time, call: { delay, body in _ = monitor.reachability.call(after: delay, body) },
            publish: { if case .overrun = $0.kind { overruns.add(1, ordering: .relaxed) } },
            run: { probe in
                starts.withLock { $0.moments[probe.name, default: []].append(time.monotonic()) }
                let report = await runner.run(probe)
                if report?.failure == nil { starts.withLock { $0.succeeded += 1 } }
                return report
            })
        await scheduler.load(
            (0..<self.count).map { number in
                var probe = ScheduledProbe()
                (probe.name, probe.module, probe.target) = ("p\(number)", "m", self.url)
                (probe.every, probe.jitter) = (.seconds(1), 0)
                return probe
            })
        // Every connection and buffer has been made in the first quarter.
        var resident: [Int] = []
        for _ in 0..<4 {
            try await Task.sleep(for: .seconds(self.seconds) / 4)
            resident.append(try Self.anonymousKilobytes())
        }
        await scheduler.stop()
        let found = starts.withLock { $0 }
        let skews = found.moments.values.flatMap(Self.skews).sorted()
        let missed = found.moments.values.map { self.seconds - 1 - $0.count }.reduce(0) { $0 + max(0, $1) }
        print(
            "runs \(skews.count), succeeded \(found.succeeded), missed \(missed), "
                + "overruns \(overruns.load(ordering: .relaxed)), skew p50 \(Self.quantile(0.5, skews)) ms "
                + "p99 \(Self.quantile(0.99, skews)) ms max \(skews.last ?? 0) ms, "
                + "anonymous \(resident.map(String.init).joined(separator: " ")) KiB, "
                + "CPU \(Self.processSeconds()) s")
        await monitor.stop()
    }

    /// How much later than its second each run of a probe started, in milliseconds; the run that was least late is the
    /// measure.
    private static func skews(_ moments: [MonotonicTime]) -> [Double] {
        guard let first = moments.first else { return [] }
        let offsets = moments.map { moment in
            let offset = Double((moment - first).wholeNanoseconds) / 1e6
            return offset - (offset / 1000).rounded() * 1000
        }
        let least = offsets.min() ?? 0
        return offsets.map { $0 - least }
    }

    private static func quantile(_ share: Double, _ sorted: [Double]) -> Double {
        sorted.isEmpty ? 0 : sorted[min(sorted.count - 1, Int(Double(sorted.count) * share))]
    }

    /// How much memory the process has written to, in KiB (RssAnon in proc_pid_status(5)).
    private static func anonymousKilobytes() throws -> Int {
        let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
        let fields = status.split { " :\t\n".contains($0) }
        return fields.firstIndex(of: "RssAnon").flatMap { Int(fields[$0 + 1]) } ?? 0
    }

    private static func processSeconds() -> Double {
        var usage = rusage()
        getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
        let (user, system) = (usage.ru_utime, usage.ru_stime)
        return Double(user.tv_sec + system.tv_sec) + Double(user.tv_usec + system.tv_usec) / 1e6
    }
}
