internal import TidegateCore
internal import TidegateNetwork

/// The mark and the user of the sockets that lookups are made for: rules may give each another route.
struct LookupContext: Hashable {
    var mark: UInt32?
    /// Nil for this process's own user.
    var uid: UInt32?

    /// The lookup for such a socket's packets to an address.
    func question(_ destination: IPAddress, port: UInt16? = nil, link: UInt32? = nil) -> RouteQuestion {
        RouteQuestion(destination, port: port, link: link, mark: self.mark, uid: self.uid)
    }
}
