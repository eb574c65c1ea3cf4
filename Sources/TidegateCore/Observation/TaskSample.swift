/// The tasks that show most about the present, and counts of all.
package struct TaskSample: Sendable {
    /// Tasks, oldest first.
    package let tasks: [TaskInfo]
    /// How many tasks there are in each state.
    package private(set) var counts: [TaskState.Name: Int] = [:]
    /// How many tasks wait, by hold reason.
    package private(set) var waiting: [HoldReason: Int] = [:]

    /// At most `limit` of `all`, which are sorted by age: those with a name first, then what runs, waits and is
    /// suspended, then the newest; `info` is called for them only.
    package init<Source>(
        of all: [Source], atMost limit: Int, isNamed: (Source) -> Bool, state: (Source) -> TaskState,
        info: (Source) -> TaskInfo
    ) {
        var ranked = Array(repeating: [Int](), count: 2 * TaskState.Name.allCases.count)
        for index in all.indices.reversed() {
            let state = state(all[index])
            self.counts[state.name, default: 0] += 1
            if case .waiting(let reason, _) = state { self.waiting[reason, default: 0] += 1 }
            ranked[(isNamed(all[index]) ? 0 : TaskState.Name.allCases.count) + state.name.rank].append(index)
        }
        self.tasks = ranked.joined().prefix(limit).sorted().map { info(all[$0]) }
    }

    /// How many tasks there are in all.
    package var total: Int { self.counts.values.reduce(0, +) }
}
