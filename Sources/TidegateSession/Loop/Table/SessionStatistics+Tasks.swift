internal import TidegateCore

extension SessionStatistics {
    /// How long a running task may go without a byte before it counts as stalled.
    private static let stallTime = Duration.seconds(10)

    /// Counts handles.
    init(of tasks: [TransferTask], at now: MonotonicTime) {
        self.init()
        for task in tasks { self.add(task, at: now) }
    }

    private mutating func add(_ task: TransferTask, at now: MonotonicTime) {
        let (snapshot, held, lastByte) = task.shared.read { ($0.snapshot, $0.held, $0.lastByte) }
        let name = snapshot.state.name
        guard name != .completed else { return }
        self.tasks[name, default: 0] += 1
        if task.journaled != nil { self.journaled[name, default: 0] += 1 }
        for reason in held { self.held[reason, default: 0] += 1 }
        if held.contains(.path) || held.contains(.constraint) { self.gateWaiting += 1 }
        let start = snapshot.started ?? task.shared.created
        self.oldestStart[name] = min(self.oldestStart[name] ?? start, start)
        guard name == .running else { return }
        self.activeConnections += 1
        if let lastByte, now - lastByte > SessionStatistics.stallTime { self.stalled += 1 }
        if let expected = snapshot.progress.expectedSent, expected > 0 {
            self.expectedSentBytes[task.request.kind, default: 0].add(expected)
            self.sentBytes[task.request.kind, default: 0].add(snapshot.progress.sent)
        }
        guard let expected = snapshot.progress.expected else { return }
        self.expectedBytes[task.request.kind, default: 0].add(expected)
        self.transferredBytes[task.request.kind, default: 0].add(snapshot.progress.offset)
        self.transferredBytes[task.request.kind, default: 0].add(snapshot.progress.receivedWire)
    }
}

extension Int64 {
    // Servers say any length: together they may say more than a number holds.
    fileprivate mutating func add(_ bytes: Int64) {
        let (sum, isTooMuch) = self.addingReportingOverflow(bytes)
        self = isTooMuch ? .max : sum
    }
}
