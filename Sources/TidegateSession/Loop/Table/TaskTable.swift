internal import TidegateCore
internal import TidegateTransfer

/// The tasks of a session's thread: the live ones each have a record; one that was made and never resumed is parked,
/// and its handle in the registry is all there is of it.
struct TaskTable {
    let registry: TaskRegistry
    private let configuration: SessionConfiguration
    private var records = IntegerMap<TaskRecord>()
    /// The accepted tasks among the records.
    private var accepted: [TaskID: UInt64] = [:]
    /// Many tasks in a row are often made of one request.
    private var latestPolicies: (request: TaskRequest, policies: ResolvedPolicies)?
    /// The task whose attempt reported last, which usually has more to report.
    private var lastReporting: TaskRecord?

    init(registry: TaskRegistry, configuration: SessionConfiguration) {
        self.registry = registry
        self.configuration = configuration
    }

    /// True once no task is left, parked ones included.
    var isEmpty: Bool { self.records.isEmpty && self.registry.isEmpty }

    /// True if no task is live.
    var hasNoRecords: Bool { self.records.isEmpty }

    subscript(number: UInt64) -> TaskRecord? { self.records[number] }

    /// A task's record, made if the task was parked; nil once it is over.
    mutating func record(of task: TransferTask) -> TaskRecord? {
        if let record = self.records[task.number] { return record }
        return self.registry.isLive(task) ? self.makeRecord(of: task) : nil
    }

    /// The task of a running attempt; nil once the attempt is over.
    mutating func record(of attempt: AttemptID) -> TaskRecord? {
        if let last = self.lastReporting, last.live?.id == attempt { return last }
        guard let record = self.records[attempt.task], record.live?.id == attempt else { return nil }
        self.lastReporting = record
        return record
    }

    /// The record of an accepted task; nil if the task is over.
    func record(accepted id: TaskID) -> TaskRecord? { self.accepted[id].flatMap { self.records[$0] } }

    private mutating func makeRecord(of task: TransferTask) -> TaskRecord {
        let record = TaskRecord(task, self.policies(of: task.request))
        self.records[task.number] = record
        if record.journal != nil { self.accepted[task.id] = task.number }
        return record
    }

    private mutating func policies(of request: TaskRequest) -> ResolvedPolicies {
        if let latest = self.latestPolicies, latest.request.isSame(as: request) { return latest.policies }
        let policies = ResolvedPolicies(request, self.configuration)
        self.latestPolicies = (request, policies)
        return policies
    }

    mutating func remove(_ record: TaskRecord) {
        self.records[record.number] = nil
        if record.journal != nil { self.accepted[record.task.id] = nil }
        if self.lastReporting === record { self.lastReporting = nil }
    }

    /// The live tasks in the order in which they were made.
    var all: [TaskRecord] { self.records.values.sorted { $0.number < $1.number } }

    /// Every task, as it has to be cancelled: the parked ones first, and those with a connection last, because a
    /// connection given back earlier would only start the next task.
    mutating func inOrderOfCancellation() -> [TaskRecord] {
        let parked = self.registry.live.filter { self.records[$0.number] == nil }.sorted { $0.number < $1.number }
        let live = self.records.values.sorted {
            ($0.attempt.hasConnection ? 1 : 0, $0.number) < ($1.attempt.hasConnection ? 1 : 0, $1.number)
        }
        var records: [TaskRecord] = []
        for task in parked { if let record = self.record(of: task) { records.append(record) } }
        return records + live
    }
}
