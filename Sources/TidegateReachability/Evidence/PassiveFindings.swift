internal import TidegateCore

/// What requests show that succeeded within the last 30 seconds.
struct PassiveFindings: Sendable, Hashable {
    /// How long ago a response came.
    var answered: Duration
    var remote: IPAddress
    /// How long ago a server on the internet proved its identity by TLS; nil if none did.
    var internet: Duration?
}
