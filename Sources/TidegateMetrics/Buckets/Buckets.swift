/// The upper bounds of the histograms, in seconds or bytes.
enum Buckets {
    /// One attempt.
    static let requests: [Double] = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10]
    /// A task with its waits.
    static let tasks: [Double] = Buckets.requests + [30, 60, 120, 300, 600]
    /// A part of an attempt, or a dump.
    static let phases: [Double] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]
    /// A wait for a path or for the next attempt.
    static let waits: [Double] = [0.01, 0.1, 0.5, 1, 5, 10, 30, 60, 120, 300, 600, 1800, 3600]
    /// From the kernel's message to the verdict.
    static let detection: [Double] = [0.000_01, 0.000_1, 0.000_5, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1]
    /// Anything that is counted, by powers of ten and their halves.
    static let counts: [Double] = [
        0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10000,
    ]
    /// A body: 1 KiB and nine times four times more.
    static let sizes: [Double] = (0..<10).map { Double(1024 << (2 * $0)) }
}
