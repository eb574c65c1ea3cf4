internal import TidegateCore

/// Why a probe failed: the values of `probe_failure_info{reason}`.
enum ProbeFailureReason: String, MetricLabel {
    /// This host had no path to the target.
    case noPath
    /// The target is none.
    case invalidTarget
    /// The target must not be probed from here.
    case targetDenied
    /// A file of the module cannot be read.
    case fileError
    /// The name gave no address.
    case resolveFailed
    /// The server that gives tokens gave none.
    case authorizationFailed
    case connectFailed
    case tlsFailed
    /// No answer in time.
    case timedOut
    /// The connection was broken.
    case reset
    /// What came is not what the module expects.
    case response
    /// What came is not what the protocol says.
    case protocolError
    /// The body ended early.
    case truncated
    case tooLarge
    /// The body is not encoded as the module says.
    case encoding
    case status
    case version
    case header
    case body
    case tls
    case noTls
    /// Somebody on the way, or this host, says that the target cannot be reached.
    case unreachable
    /// The packet passed more routers than it may.
    case ttlExceeded
    /// The packet is too long for a link, and must stay whole.
    case fragmentationNeeded
    /// A name server answered with another response code.
    case rcode
    /// The records of an answer are not as the module says.
    case records
    /// A service says that it does not serve.
    case notServing
    /// Other probes held the memory for bodies, or the body needs more than there is for all.
    case noMemory
    /// This process lacks a privilege.
    case notPermitted
    case `internal`

    /// The labels of those with which the target did not answer, or not to the end.
    static let silences = Set(
        [Self.noPath, .resolveFailed, .connectFailed, .timedOut, .reset, .truncated, .unreachable].map(\.label))
}
