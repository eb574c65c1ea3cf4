internal import Tidegate

/// Reports when a transfer under way has been silent for so long that others should be asked why.
struct SilenceWatch {
    private struct Silence {
        var progress: TransferProgress
        var since: MonotonicTime
        var reportedAt: MonotonicTime?
    }

    /// How often it has to be asked.
    static let interval = Duration.milliseconds(250)
    /// How long a transfer has to be idle before it is reported: a connection and its first byte hardly take longer.
    static let threshold = Duration.seconds(1)
    // Between two reports of the same transfer, and of any two.
    private static let minimumIntervals = (same: Duration.seconds(15), any: Duration.seconds(5))

    private var silences: [TaskID: Silence] = [:]
    private var reportedAt: MonotonicTime?

    /// True if a transfer is silent and that was not reported lately; it is from now on.
    mutating func shouldDiagnose(_ transfers: [TaskInfo], at now: MonotonicTime) -> Bool {
        var silences: [TaskID: Silence] = [:]
        for transfer in transfers {
            guard case .running = transfer.state else { continue }
            let known = self.silences[transfer.id].flatMap { $0.progress == transfer.progress ? $0 : nil }
            silences[transfer.id] = known ?? Silence(progress: transfer.progress, since: now)
        }
        self.silences = silences
        let isDue = silences.values.contains { silence in
            now - silence.since >= Self.threshold
                && silence.reportedAt.map { now - $0 >= Self.minimumIntervals.same } ?? true
        }
        guard isDue, self.reportedAt.map({ now - $0 >= Self.minimumIntervals.any }) ?? true else { return false }
        self.reportedAt = now
        for (id, silence) in silences where now - silence.since >= Self.threshold {
            self.silences[id]?.reportedAt = now
        }
        return true
    }
}
