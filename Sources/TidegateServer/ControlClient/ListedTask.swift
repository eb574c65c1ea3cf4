/// A task as the daemon's responses describe it.
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
    /// The number of the latest attempt; 0 before the first.
    package var attempt: Int
    /// How many attempts were charged; nil until the task has ended.
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

/// The response to a submission.
package struct SubmittedTask: Sendable, Hashable, Codable {
    package var id: String
    package var new: Bool
}

/// A response as the daemon sent it, and as a value.
package struct ControlReply<Value: Sendable>: Sendable {
    /// One JSON object on one line.
    package let text: String
    /// The decoded object.
    package let value: Value
}
