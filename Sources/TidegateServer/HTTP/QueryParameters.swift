internal import HTTPTypes
internal import HummingbirdCore
internal import TidegateCore

/// The query of a request target, decoded as HTML forms encode it.
///
/// Hummingbird's own decodes neither names nor `+`, but Prometheus may send `name%5B%5D`.
struct QueryParameters: Sendable {
    private let pairs: [(name: String, value: String)]

    /// The query of a request target: the part after the first question mark.
    init(target: String) {
        let query = target.utf8.prefix { $0 != UInt8(ascii: "#") }.drop { $0 != UInt8(ascii: "?") }.dropFirst()
        self.pairs = query.split(separator: UInt8(ascii: "&")).map { pair in
            let parts = pair.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            return (Self.decoded(parts[0]), parts.count == 2 ? Self.decoded(parts[1]) : "")
        }
    }

    /// All values of `name`, in the order of the query.
    func values(of name: String) -> [String] { self.pairs.filter { $0.name == name }.map(\.value) }

    private static func decoded(_ text: Substring.UTF8View) -> String {
        let bytes = text.map { $0 == UInt8(ascii: "+") ? UInt8(ascii: " ") : $0 }
        return String(decoding: PercentEncoding.decode(bytes), as: UTF8.self)
    }
}

extension HTTPFields {
    /// The field with a name given as text; nil if it is absent, or if the text is not a field name.
    subscript(named name: String) -> String? {
        get { HTTPField.Name(name).flatMap { self[$0] } }
        set { if let name = HTTPField.Name(name) { self[name] = newValue } }
    }

    /// All values of a field as one list (RFC 9110 5.3); nil if there are none.
    func list(_ name: HTTPField.Name) -> String? {
        let values = self[values: name]
        return values.isEmpty ? nil : values.joined(separator: ",")
    }
}

/// The part of the task list that a request selects: `?limit=` tasks after the task `?after=`.
struct TaskPage: Sendable, Hashable {
    /// The default and largest size of a page.
    static let maxCount = 1000

    /// The maximum number of tasks.
    let limit: Int
    /// The task before the page; nil for the first page.
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

    /// The response to a malformed parameter.
    static let problem = Response.problem(
        .badRequest, "limit is a number from 1 to \(TaskPage.maxCount), after is the id of a task", format: .json)

    /// The page's tasks as a document; `next` is the value of `after` for the next page, null on the last one.
    static func document<Task>(of slice: TaskSlice<Task>, json: (Task) -> JSONValue) -> JSONValue {
        [
            "schema": 1, "tasks": .array(slice.tasks.map(json)), "next": .optional(slice.next?.description),
            "total": .integer(Int64(slice.total)),
        ]
    }
}
