internal import TidegateCore
internal import TidegateNetwork

/// The live connections by the numbers of their sockets.
///
/// The entries stand side by side, and a removed one is replaced by the last: a connection takes its entry and one slot
/// of the index.
struct ConnectionTable {
    private(set) var connections: [TrackedConnection] = []
    private var places: [UInt64: UInt32] = [:]
    private let limit: Int
    /// The number of the present list of all connections, from 1; 0 before the first.
    private(set) var list: UInt32 = 0

    init(limit: Int) { self.limit = limit }

    var count: Int { self.connections.count }
    /// True if no more connections are taken in.
    var isFull: Bool { self.connections.count >= self.limit }

    /// A list of all connections begins.
    mutating func beginList() { self.list &+= 1 }

    /// Calls `body` with a connection, to change it; nil if it is not known.
    mutating func update<Result>(_ cookie: UInt64, _ body: (inout TrackedConnection) -> Result) -> Result? {
        guard let place = self.places[cookie] else { return nil }
        return body(&self.connections[Int(place)])
    }

    /// The present list showed a connection.
    mutating func markSeen(_ cookie: UInt64) {
        guard let place = self.places[cookie] else { return }
        self.connections[Int(place)].list = self.list
    }

    /// Takes in a connection that is not known yet; false if there are too many.
    mutating func insert(_ connection: TrackedConnection) -> Bool {
        guard !self.isFull, self.places[connection.cookie] == nil else { return false }
        self.places[connection.cookie] = UInt32(self.connections.count)
        self.connections.append(connection)
        return true
    }

    /// Removes a connection, and returns it; nil if it is not known.
    @discardableResult
    mutating func remove(_ cookie: UInt64) -> TrackedConnection? {
        guard let place = self.places.removeValue(forKey: cookie).map(Int.init) else { return nil }
        let connection = self.connections[place]
        guard let last = self.connections.popLast(), last.cookie != cookie else { return connection }
        self.connections[place] = last
        self.places[last.cookie] = UInt32(place)
        return connection
    }

    /// Removes the connections that neither of the last two lists showed: messages about their ends were lost.
    mutating func removeAll(notSeenSince list: UInt32) -> [TrackedConnection] {
        let gone = self.connections.filter { $0.list < list }
        for connection in gone { self.remove(connection.cookie) }
        return gone
    }
}
