import CoreMetrics
import Glibc
import Synchronization
import Tidegate
import TidegateMetrics

/// What the program's own counters and histograms cost: each step, each scrape, and each series in memory.
struct Metrics {
    private static let series = 10_000
    private static let histograms = 800
    private static let steps = 10_000_000

    func run() throws {
        let time = SystemClock()
        let recorder = MetricsRecorder(build: BuildInfo.current, start: time.monotonic(), wall: time.wall())
        let factory = recorder.adapter()
        let counter = factory.makeCounter(label: "bench_steps", dimensions: [])
        let timer = factory.makeTimer(label: "bench_time", dimensions: [])
        let inputs = ScrapeInputs(now: time.monotonic(), status: .unavailable(mode: .event))
        let bare = Self.encode(recorder, inputs)
        let add = Self.nanoseconds { counter.increment(by: 1) }
        let observe = Self.nanoseconds { timer.recordNanoseconds(1_234_567) }
        let contended = Self.contended { counter.increment(by: 1) }
        let before = try Suspended.anonymousBytes()
        let counters = (0..<Self.series).map {
            factory.makeCounter(label: "bench_extra", dimensions: [("n", "\($0)")])
        }
        for counter in counters { counter.increment(by: 7) }
        let bytes = (try Suspended.anonymousBytes() - before) / Double(Self.series)
        let withCounters = Self.encode(recorder, inputs)
        let timers = (0..<Self.histograms).map {
            factory.makeTimer(label: "bench_extra_time", dimensions: [("n", "\($0)")])
        }
        for timer in timers { timer.recordNanoseconds(1_234_567) }
        let withHistograms = Self.encode(recorder, inputs)
        let result: JSONValue = [
            "add": .number(add), "observe": .number(observe), "contended": .number(contended),
            "bytesPerSeries": .number(bytes),
            "encodeCounters": .number(withCounters.milliseconds - bare.milliseconds),
            "histogramLines": .number(Double(withHistograms.lines - withCounters.lines)),
            "encodeHistograms": .number(withHistograms.milliseconds - withCounters.milliseconds),
        ]
        print(result)
    }

    /// The median of many expositions.
    private static func encode(
        _ recorder: MetricsRecorder, _ inputs: ScrapeInputs
    ) -> (milliseconds: Double, lines: Int) {
        var times: [Double] = []
        var lines = 0
        for _ in 0..<51 {
            let start = Publish.threadNanoseconds()
            let text = recorder.exposition(of: inputs, in: .text)
            times.append((Publish.threadNanoseconds() - start) / 1e6)
            lines = text.count { $0 == UInt8(ascii: "\n") }
        }
        return (times.sorted()[25], lines)
    }

    private static func nanoseconds(_ step: () -> Void) -> Double {
        let start = Publish.threadNanoseconds()
        for _ in 0..<Self.steps { step() }
        return (Publish.threadNanoseconds() - start) / Double(Self.steps)
    }

    // Two threads, each with its own count of steps; what one step costs the thread that makes it.
    private static func contended(_ step: @escaping @Sendable () -> Void) -> Double {
        let other = Companion { step() }
        defer { other.stop() }
        return Self.nanoseconds(step)
    }
}

/// A second thread that does the same all the time.
private final class Companion: Sendable {
    private let isOver = Atomic<Bool>(false)
    private let hasBegun = Atomic<Bool>(false)
    private let hasEnded = Atomic<Bool>(false)

    init(_ step: @escaping @Sendable () -> Void) {
        Task.detached {
            self.hasBegun.store(true, ordering: .releasing)
            while !self.isOver.load(ordering: .relaxed) { for _ in 0..<1000 { step() } }
            self.hasEnded.store(true, ordering: .releasing)
        }
        while !self.hasBegun.load(ordering: .acquiring) { usleep(100) }
    }

    func stop() {
        self.isOver.store(true, ordering: .relaxed)
        while !self.hasEnded.load(ordering: .acquiring) { usleep(100) }
    }
}
