/// The endpoint's view of a monitor.
package protocol MonitorView: Sendable {
    /// The complete current state of the network, as far as the monitor knows it.
    var status: ReachabilityStatus { get }
    /// Of the tasks that are not over, and those that ended recently, the `limit` that follow the task `after`.
    func tasks(after: TaskID?, atMost limit: Int) -> TaskSlice<TaskInfo>
    /// The tasks of that list that show most about the present.
    func taskSample(atMost limit: Int) -> TaskSample
    /// One task; nil if the id is not known.
    func task(_ id: TaskID) -> TaskInfo?
    /// Counts of tasks and connections now.
    func sessionStatistics() -> SessionStatistics
    /// How busy the threads are that have started.
    var threads: [MonitorThread: ThreadLoad] { get }
    /// True once there is a first verdict; `unknown` is a verdict.
    var isReady: Bool { get }
    /// Waits for the first verdicts on this host and on every configured target, at most for `limit` in all.
    func waitForFirstStatus(within limit: Duration) async
    /// The latest measurement of this host's ladder; nil before the first.
    var diagnosis: HostDiagnosis? { get }
    /// A user opened the status page: the ladder is measured again if the last measurement is not recent.
    ///
    /// Returns immediately; the page that is being made shows the previous measurement.
    func pageViewed()
    /// What observes the connections of other programs; nil if nothing does.
    var connectionObservation: (any ConnectionObservation)? { get }
}

extension MonitorView {
    /// The threads that have been in one turn for longer than 10 s.
    package var stalledThreads: Set<MonitorThread> { Set(self.threads.filter(\.value.isStalled).keys) }
}

/// How busy a thread is that executes commands in turns.
package struct ThreadLoad: Sendable, Hashable {
    /// True if it has been in one turn for longer than 10 s.
    package var isStalled = false
    /// The time in turns since the start.
    package var busy = Duration.zero
    /// The longest of these turns: how late the thread has been at most.
    package var longest = Duration.zero
    /// Commands that wait for the next turn.
    package var waiting = 0

    /// The load of a thread that has done nothing.
    package init() {}
}

/// A thread without which a monitor does not work.
package enum MonitorThread: String, MetricLabel {
    /// Executes tasks.
    case transfer
    /// Makes the requests of checks; starts with the first one.
    case check
    /// Reads the kernel's messages and evaluates paths.
    case netlink
    /// Follows the connections of other programs, if the configuration asks for it.
    case observe
}

/// Counts of a session's tasks and connections at one moment.
package struct SessionStatistics: Sendable, Hashable {
    /// Tasks that are not over, by state.
    package var tasks: [TaskState.Name: Int] = [:]
    /// Holds in force, by reason.
    package var held: [HoldReason: Int] = [:]
    /// Tasks waiting at the gate: held for a path or a constraint.
    package var gateWaiting: Int = 0
    /// Running tasks without a byte for longer than the stall time.
    package var stalled: Int = 0
    /// When the oldest task in each state started or, before its first attempt, was created.
    package var oldestStart: [TaskState.Name: WallTime] = [:]
    /// Body bytes expected by running tasks of known length, by kind.
    package var expectedBytes: [TaskKind: Int64] = [:]
    /// Body bytes those tasks have.
    package var transferredBytes: [TaskKind: Int64] = [:]
    /// Request body bytes of known length that running tasks have to send, by kind.
    package var expectedSentBytes: [TaskKind: Int64] = [:]
    /// Request body bytes those tasks have sent.
    package var sentBytes: [TaskKind: Int64] = [:]
    /// Connections with a transfer on them.
    package var activeConnections: Int = 0
    /// Connections kept for the next transfer.
    package var idleConnections: Int = 0
    /// Accepted tasks in the journal that are not over, by state.
    package var journaled: [TaskState.Name: Int] = [:]
    /// The remaining retry budgets by host; for several ports the smallest.
    ///
    /// Empty unless the session reports them.
    package var retryTokens: [String: Double] = [:]

    /// Statistics of a session without a task.
    package init() {}
}

/// What observes the connections of other programs.
package protocol ConnectionObservation: Sendable {
    /// The current report.
    func report() async -> ConnectionsReport
    /// Counts since the observation began.
    var statistics: ConnectionStatistics { get }
}
