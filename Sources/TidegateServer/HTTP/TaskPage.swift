internal import HTTPTypes
internal import TidegateCore

/// Which part of the list of tasks a request asks for: `?limit=` tasks that follow the task `?after=`.
struct TaskPage: Sendable, Hashable {
    /// The default, and the largest page.
    static let maxCount = 1000

    /// How many tasks it has at most.
    let limit: Int
    /// The task that it follows; nil for the first page.
    let after: TaskID?

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

    /// The page's tasks as a document; `next` is what to ask for after, null on the last page.
    static func document<Task>(of slice: TaskSlice<Task>, json: (Task) -> JSONValue) -> JSONValue {
        [
            "schema": 1, "tasks": .array(slice.tasks.map(json)), "next": .optional(slice.next?.description),
            "total": .integer(Int64(slice.total)),
        ]
    }
}
