/// The stages of one request, in the order it passes through them.
package enum Stage: String, Sendable, CaseIterable, Hashable, Comparable {
    /// The name's addresses are looked up.
    case resolve
    /// A TCP connection is made.
    case connect
    /// The TLS handshake.
    case tls
    /// The request is sent.
    case request
    /// The response's head is awaited and read.
    case response
    /// The response's body is read.
    case body

    /// Orders by progress.
    package static func < (left: Stage, right: Stage) -> Bool { left.order < right.order }

    private var order: Int {
        switch self {
        case .resolve: 0
        case .connect: 1
        case .tls: 2
        case .request: 3
        case .response: 4
        case .body: 5
        }
    }
}
