internal import Tidegate

/// Reports when a transfer under way has been silent for so long that others should be asked why.
struct SilenceWatch {
    private struct Silence {
        var progress: TransferProgress
        var since: MonotonicTime
    }

    /// How often it has to be asked.
    static let interval = Duration.milliseconds(250)
    /// For how long no byte has moved by then: longer than a connection and its first byte take nearly always.
    static let patience = Duration.seconds(1)
    // Before the same silence is looked into again.
    private static let distance = Duration.seconds(15)

    private var silences: [TaskID: Silence] = [:]
    private var reportedAt: MonotonicTime?

    /// True if a transfer is silent now and this has not been reported lately.
    mutating func reportsSilence(of transfers: [TaskInfo], at now: MonotonicTime) -> Bool {
        var silences: [TaskID: Silence] = [:]
        for transfer in transfers {
            guard case .running = transfer.state else { continue }
            let known = self.silences[transfer.id].flatMap { $0.progress == transfer.progress ? $0 : nil }
            silences[transfer.id] = known ?? Silence(progress: transfer.progress, since: now)
        }
        self.silences = silences
        guard silences.values.contains(where: { now - $0.since >= Self.patience }),
            self.reportedAt.map({ now - $0 >= Self.distance }) ?? true
        else { return false }
        self.reportedAt = now
        return true
    }
}
