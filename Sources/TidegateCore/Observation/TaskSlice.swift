/// A part of a list of tasks, in the order of their ids.
package struct TaskSlice<Task> {
    /// The tasks.
    package let tasks: [Task]
    /// After which task the list goes on; nil at its end.
    package let next: TaskID?
    /// How many tasks the whole list has.
    package let total: Int
}

extension TaskSlice {
    /// The `limit` tasks that follow the task `after` in `all`; `make` is called for them only.
    package init<Source>(
        of all: [Source], after: TaskID?, atMost limit: Int, id: (Source) -> TaskID, make: (Source) -> Task
    ) {
        let ids = all.indices.map { (id: id(all[$0]), index: $0) }
        let left = (after.map { after in ids.filter { $0.id > after } } ?? ids).sorted { $0.id < $1.id }
        let shown = left.prefix(limit)
        self.init(
            tasks: shown.map { make(all[$0.index]) }, next: shown.count < left.count ? shown.last?.id : nil,
            total: all.count)
    }

    /// The same part of another list.
    package func map<Other>(_ transform: (Task) -> Other) -> TaskSlice<Other> {
        TaskSlice<Other>(tasks: self.tasks.map(transform), next: self.next, total: self.total)
    }
}

extension TaskSlice: Sendable where Task: Sendable {}
