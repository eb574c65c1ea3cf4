internal import TidegateNetwork

/// Remembers about watched neighbours what their present state no longer shows.
struct NeighbourHistory: Sendable {
    private struct Record: Hashable {
        var isStuck = false
        var wasReachable = false
    }

    private var records: [NeighbourKey: Record] = [:]

    init() {}

    /// Records a neighbour's state: FAILED counts until it is REACHABLE.
    mutating func record(_ neighbour: KernelNeighbour) {
        switch neighbour.state {
        case .failed: self.records[neighbour.key, default: Record()].isStuck = true
        case .reachable, .permanent, .noarp:
            self.records[neighbour.key] = Record(isStuck: false, wasReachable: true)
        case .none, .incomplete, .stale, .delay, .probe: break
        }
    }

    /// Adds what is remembered to `findings`.
    func recall(_ key: NeighbourKey, into findings: inout GatewayFindings) {
        guard let record = self.records[key] else { return }
        findings.isStuck = record.isStuck
        findings.wasReachable = record.wasReachable
    }
}
