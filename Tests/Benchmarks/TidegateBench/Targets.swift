import Glibc
import Synchronization
import Tidegate

/// Watches thousands of targets: measures one evaluation of all of them, and when the last watch is notified of a change.
struct Targets {
    let count: Int

    func run() async throws {
        let monitor = try Monitor()
        _ = await monitor.reachability.firstStatus(within: .seconds(5))
        let recorder = CompletionRecorder(count: self.count)
        monitor.bus.attach(recorder)
        let watches = (0..<self.count).map { number in
            // 20.0.0.0/8 is as good as any: no packet is sent.
            let address = IPAddress(ipv4: 0x1400_0000 + UInt32(number) * 256 + 1)
            return monitor.reachability.watch(Target(address: address, port: 443)) { _ in recorder.notified() }
        }
        CompletionRecorder.write("ready")
        // The benchmark ends this process; a day is longer than any.
        try await Task.sleep(for: .seconds(86_400))
        for watch in watches { watch.cancel() }
        await monitor.stop()
    }
}

/// Prints, in nanoseconds of CLOCK_MONOTONIC, every moment at which the last target was notified or evaluated.
private final class CompletionRecorder: EventSink {
    private let notifications = Atomic<Int>(0)
    private let count: Int

    init(count: Int) { self.count = count }

    func notified() {
        guard self.notifications.add(1, ordering: .relaxed).newValue % self.count == 0 else { return }
        self.printTime()
    }

    func receive(_ event: Event) {
        guard case .netlink(.lookedUp(let lookups)) = event.payload, lookups >= self.count else { return }
        self.printTime()
    }

    private func printTime() {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        Self.write("\(Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))")
    }

    static func write(_ line: String) {
        let bytes = Array("\(line)\n".utf8)
        guard Glibc.write(1, bytes, bytes.count) == bytes.count else { exit(1) }
    }
}
