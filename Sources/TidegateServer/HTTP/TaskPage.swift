internal import HTTPTypes
internal import TidegateCore

/// Which part of the list of tasks a request asks for: `?limit=` tasks that follow the task `?after=`.
struct TaskPage: Sendable, Hashable {
    /// The default, and the largest page.
    static let maxCount = 1000

    private let limit: Int
    private let after: TaskID?

    /// The page of a request target; nil if a parameter is malformed.
    init?(target: String) {
        let query = QueryParameters(target: target)
        let (limits, afters) = (query.values(of: "limit"), query.values(of: "after"))
        guard let limit = Int(limits.first ?? String(Self.maxCount)), (1...Self.maxCount).contains(limit),
            limits.count < 2, afters.count < 2
        else { return nil }
        let after = afters.first.map { TaskID($0) }
        if case .some(nil) = after { return nil }
        self.limit = limit
        self.after = after ?? nil
    }

    /// What is said of a malformed parameter.
    static let problem = ProblemDocument(
        .badRequest, "limit is a number from 1 to \(TaskPage.maxCount), after is the id of a task", format: .json)

    /// The page of these tasks, in the order of their ids; `next` is what to ask for after, null on the last page.
    func document<Task>(
        of tasks: [Task], id: (Task) -> TaskID?, json: (Task) -> JSONValue
    ) -> JSONValue {
        let all = tasks.compactMap { task in id(task).map { (id: $0, task: task) } }.sorted { $0.id < $1.id }
        let left = self.after.map { after in all.drop { $0.id <= after } } ?? all[...]
        let shown = left.prefix(self.limit)
        let next = shown.count < left.count ? shown.last?.id.description : nil
        return [
            "schema": 1, "tasks": .array(shown.map { json($0.task) }), "next": .optional(next),
            "total": .integer(Int64(all.count)),
        ]
    }
}
