/// A task as the daemon's answers have it.
package struct ListedTask: Sendable, Hashable, Codable {
    package var id: String
    package var name: String?
    package var key: String?
    package var kind: String
    package var method: String
    package var url: String
    package var state: String
    package var waitsFor: String?
    package var detail: String?
    package var outcome: String?
    /// The number of the last one, or of the one that runs.
    package var attempt: Int
    /// How many counted, once it is over.
    package var attempts: Int?
    package var bytes: Int64
    package var expectedBytes: Int64?
    package var fraction: Double?
    package var created: String
    package var ended: String?
    package var file: String?
    package var status: Int?
    package var reason: String?
    package var explanation: String?
}

/// What a submission came to.
package struct SubmittedTask: Sendable, Hashable, Codable {
    package var id: String
    package var new: Bool
}

/// An answer in the daemon's own words, and as a value.
package struct ControlReply<Value: Sendable>: Sendable {
    /// One JSON object on one line.
    package let text: String
    /// The same.
    package let value: Value
}
