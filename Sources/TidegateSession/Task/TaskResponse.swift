public import HTTPTypes
internal import TidegateTransfer

/// The head of a task's answer: its status and fields.
public struct TaskResponse: Sendable {
    /// The URL that answered: after redirects the last one, without user information.
    public let url: String
    /// True if this is a response of the session's ``ValidatorStore``, which the server has confirmed by a 304.
    ///
    /// Its fields are the stored ones with those of the 304 (RFC 9111 section 3.2).
    public let isRevalidated: Bool
    private let head: ResponseHead

    init(_ head: ResponseHead, url: String, isRevalidated: Bool = false) {
        self.head = head
        self.url = url
        self.isRevalidated = isRevalidated
    }

    /// The status, 200 to 599.
    public var status: Int { self.head.status }

    /// The protocol's version as the status line gives it: `1.1`, `2`.
    package var version: String { self.head.version }

    /// Every field, in order, as it stands on the wire.
    public var fields: [HTTPField] { self.head.fields }

    /// The value of the first field with this name, case ignored; nil if there is none.
    public func field(_ name: String) -> String? {
        HTTPField.Name(name).flatMap { name in self.fields.first { $0.name == name }?.value }
    }

    /// The whole body's length on the wire as the answer gives it; nil if it does not.
    package var expectedBytes: Int64? { self.head.totalLength }
}
