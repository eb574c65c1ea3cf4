internal import TidegateCore
internal import TidegateNetwork

/// Which gateways are watched in the neighbour table, until when, and what was seen of them.
struct GatewayWatch {
    // Long enough for the checks of one explanation or one wait.
    private static let duration = Duration.seconds(60)

    private(set) var keys: Set<NeighbourKey> = []
    private(set) var history = NeighbourHistory()
    private var deadline: MonotonicTime?

    /// Records a neighbour's state.
    mutating func record(_ neighbour: KernelNeighbour) { self.history.record(neighbour) }

    /// Watches these gateways, too, for a while from now.
    mutating func add(_ keys: [NeighbourKey], at now: MonotonicTime) {
        self.deadline = now + GatewayWatch.duration
        self.keys.formUnion(keys)
    }

    /// Ends the watch if it is over; true if that changed something.
    mutating func expire(at now: MonotonicTime) -> Bool {
        guard let deadline = self.deadline, deadline <= now else { return false }
        self = GatewayWatch()
        return true
    }
}
