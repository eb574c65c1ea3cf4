internal import Synchronization
public import TidegateCore

/// The header fields that every new task of a session gets where its request has none of that name.
///
/// Read and written by any thread at any time; a task has what was there when it was made.
public final class DefaultHeaders: Sendable {
    private let fields = Mutex<[HeaderField]>([])
    // Most sessions have none, and making a task need not lock for that.
    private let isEmpty = Atomic<Bool>(true)

    init() {}

    /// Every field, in the order set first.
    public var all: [HeaderField] { self.fields.withLock { $0 } }

    /// The value of a field, case ignored; nil where it is not set.
    public func value(_ name: String) -> String? { self.all.first(named: name) }

    /// Sets a field, or removes it with nil.
    ///
    /// - Throws: ``TaskError`` with the reason `invalidRequest` where a head cannot carry it.
    public func set(_ name: String, to value: String?) throws(TaskError) {
        if let value { try TaskRequest.check([HeaderField(name, value)]) }
        self.fields.withLock { fields in
            let place = fields.firstIndex { $0.isNamed(name) }
            switch (place, value) {
            case (let place?, let value?): fields[place] = HeaderField(name, value)
            case (let place?, nil): fields.remove(at: place)
            case (nil, let value?): fields.append(HeaderField(name, value))
            case (nil, nil): break
            }
            self.isEmpty.store(fields.isEmpty, ordering: .releasing)
        }
    }

    /// The request with the fields that it has not.
    func applied(to request: TaskRequest) -> TaskRequest {
        guard !self.isEmpty.load(ordering: .acquiring) else { return request }
        let missing = self.all.filter { field in !request.headers.contains { $0.isNamed(field.name) } }
        guard !missing.isEmpty else { return request }
        var request = request
        request.headers += missing
        return request
    }
}
