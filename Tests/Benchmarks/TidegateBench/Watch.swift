import Glibc
import Synchronization
import Tidegate

/// Prints a line of JSON whenever the verdict, the mode or the monitor's health changed.
struct Watch {
    func run() async throws {
        let monitor = try Monitor()
        _ = await monitor.reachability.firstStatus(within: .seconds(5))
        let printer = StatusPrinter(monitor.reachability)
        monitor.bus.attach(printer)
        printer.printIfChanged()
        // The benchmark ends this process; a day is longer than any.
        try await Task.sleep(for: .seconds(86_400))
        await monitor.stop()
    }
}

private final class StatusPrinter: EventSink {
    private struct State {
        var emissions = 0
        var last = ""
    }

    private let reachability: ReachabilityMonitor
    private let state = Mutex(State())

    init(_ reachability: ReachabilityMonitor) { self.reachability = reachability }

    func receive(_ event: Event) {
        switch event.payload {
        // A message by itself; the events of what it changed follow.
        case .netlink(.received): return
        case .path, .link: self.state.withLock { $0.emissions += 1 }
        default: break
        }
        self.printIfChanged()
    }

    func printIfChanged() {
        let status = self.reachability.status
        let line = self.state.withLock { state in
            let line = Self.line(status, emissions: state.emissions)
            guard line != state.last else { return "" }
            state.last = line
            return line
        }
        guard !line.isEmpty else { return }
        // Unbuffered: the benchmark waits for each line.
        let bytes = Array("\(line)\n".utf8)
        guard write(1, bytes, bytes.count) == bytes.count else { exit(1) }
    }

    private static func line(_ status: ReachabilityStatus, emissions: Int) -> String {
        let document: JSONValue = [
            "emissions": .number(Double(emissions)),
            "level": .string(status.global.level.rawValue),
            "reason": status.global.reason.map { .string($0.rawValue) } ?? .null,
            "interface": status.global.path.map { .string($0.interface) } ?? .null,
            "mode": .string(status.mode.rawValue),
            "overruns": .number(Double(status.health.overruns)),
            "resyncs": .number(Double(status.health.resyncs)),
            "isConsistent": .bool(status.health.isConsistent),
        ]
        return "\(document)"
    }
}
