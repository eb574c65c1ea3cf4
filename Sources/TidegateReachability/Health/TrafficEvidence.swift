package import TidegateCore

/// Evidence from requests and connections of this host about its ways out.
package enum TrafficEvidence: Sendable, Hashable {
    /// A request that succeeded, which proves its path.
    case success(Request)
    /// A host has answered, which may end an outage.
    case answer
    /// A request failed at this moment, whatever the reason.
    case failure(MonotonicTime)
    /// Earlier successes over this family may no longer be valid; over each family if nil.
    case doubt(AddressFamily?)
    /// Packets sent since a moment have had no answer, and anything up to the whole way out may be the reason.
    case silence(since: MonotonicTime)
    /// The same for packets to one server, for which this party is responsible as far as is known; nil without an address.
    case silenceOf(FaultParty, of: IPAddress?, since: MonotonicTime)
    /// An attempt of a task that failed, and does not show who is responsible.
    case attempt(OpenAttempts.Attempt)
    /// Something failed, and a new diagnosis may tell more.
    case unclear

    /// A request that succeeded.
    package struct Request: Sendable, Hashable {
        /// Its source address, which identifies the path.
        package var source: IPAddress
        package var remote: IPAddress
        /// Whether the remote proved its identity by TLS.
        package var isEncrypted: Bool
        /// How long the connection took; nil if there was one before.
        package var connect: Duration?
        package var start: MonotonicTime
        package var end: MonotonicTime

        /// A request between two moments.
        package init(
            from source: IPAddress, to remote: IPAddress, isEncrypted: Bool, connect: Duration?, start: MonotonicTime,
            end: MonotonicTime
        ) {
            (self.source, self.remote, self.isEncrypted) = (source.withoutZone, remote, isEncrypted)
            (self.connect, self.start, self.end) = (connect, start, end)
        }
    }
}
