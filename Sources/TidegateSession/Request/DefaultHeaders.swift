public import HTTPTypes
internal import Synchronization
public import TidegateCore

/// The header fields that every new task of a session receives unless its request has a field with that name.
///
/// Any thread may read and write them at any time; a task uses the fields from its creation.
public final class DefaultHeaders: Sendable {
    private let fields = Mutex<[HTTPField]>([])
    // Most sessions have none, and creating a task then needs no lock.
    private let isEmpty = Atomic<Bool>(true)

    package init() {}

    /// Every field, in the order in which it was first set.
    public var all: [HTTPField] { self.fields.withLock { $0 } }

    /// The value of a field, ignoring case; nil if it is not set.
    public func value(_ name: String) -> String? { HTTPField.Name(name).flatMap { self.all.first(named: $0) } }

    /// Sets a field, or removes it with nil.
    ///
    /// - Throws: ``TaskError`` with the reason `invalidRequest` if the field is not valid in HTTP.
    public func set(_ name: String, to value: String?) throws(TaskError) {
        let field = try DefaultHeaders.field(name, value ?? "")
        self.fields.withLock { fields in
            let index = fields.firstIndex { $0.name == field.name }
            switch (index, value) {
            case (let index?, .some): fields[index] = field
            case (let index?, nil): fields.remove(at: index)
            case (nil, .some): fields.append(field)
            case (nil, nil): break
            }
            self.isEmpty.store(fields.isEmpty, ordering: .releasing)
        }
    }

    private static func field(_ name: String, _ value: String) throws(TaskError) -> HTTPField {
        let field = try TaskRequest.valid { () throws(HTTPFieldError) in try HTTPField(name, value) }
        try TaskRequest.check([field])
        return field
    }

    /// Adds the missing fields to a request.
    func applied(to request: TaskRequest) -> TaskRequest {
        guard !self.isEmpty.load(ordering: .acquiring) else { return request }
        let missing = self.all.filter { field in !request.headers.contains { $0.name == field.name } }
        guard !missing.isEmpty else { return request }
        var request = request
        request.headers += missing
        return request
    }
}
