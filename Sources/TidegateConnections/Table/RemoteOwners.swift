internal import TidegateCore

/// Whose connections a remote has, as lists show them.
struct RemoteOwners {
    // People want to know who, not to read a list.
    private static let limit = 8

    // As of the last lists that were not refused, and what the present one has shown so far.
    private var shown: [ConnectionStatistics.State: [RemoteReport.Owner]] = [:]
    private var listing: [ConnectionStatistics.State: [RemoteReport.Owner]] = [:]
    /// Whose they are, or whose the last ones were.
    private(set) var all: [RemoteReport.Owner] = []

    /// A list begins: what it shows starts again, and is known once it ends.
    mutating func beginList(of states: Set<ConnectionStatistics.State>) {
        self.listing = self.shown
        for state in states { self.listing[state] = nil }
    }

    /// A list showed a connection.
    mutating func add(_ owner: RemoteReport.Owner, of state: ConnectionStatistics.State) {
        var owners = self.listing[state] ?? []
        guard !owners.contains(owner), owners.count < Self.limit else { return }
        owners.append(owner)
        self.listing[state] = owners
    }

    /// A list has ended.
    mutating func endList() {
        guard self.shown != self.listing else { return }
        self.shown = self.listing
        // Who had the last connections is worth knowing once they have ended.
        guard !self.shown.isEmpty else { return }
        self.all = self.shown.sorted { $0.key.rawValue < $1.key.rawValue }.flatMap(\.value).reduce(into: []) {
            if !$0.contains($1), $0.count < Self.limit { $0.append($1) }
        }
    }
}
