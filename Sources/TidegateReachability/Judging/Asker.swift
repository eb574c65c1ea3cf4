internal import TidegateCore
internal import TidegateNetwork

/// On whose behalf lookups are made: rules may lead each mark and each user another way.
struct Asker: Hashable {
    var mark: UInt32?
    /// Nil for this process's own user.
    var uid: UInt32?

    /// The question where this asker's packets to an address would go.
    func question(_ destination: IPAddress, port: UInt16? = nil, link: UInt32? = nil) -> RouteQuestion {
        RouteQuestion(destination, port: port, link: link, mark: self.mark, uid: self.uid)
    }
}

extension ReachabilityConfiguration {
    /// On whose behalf sentinels and targets are looked up.
    var asker: Asker { Asker(mark: self.mark, uid: self.uid) }
}
