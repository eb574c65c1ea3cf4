internal import TidegateCore
internal import TidegateNetwork

/// The live connections by the numbers of their sockets.
///
/// The entries stand side by side, and a removed one is replaced by the last: a connection takes its entry and one slot
/// of the index. They stand in blocks, because one array would be copied, and have room for twice as many, whenever it
/// grows.
struct ConnectionTable {
    private static let blockSize = 1024

    private var blocks: [[TrackedConnection]] = []
    private(set) var count = 0
    private var places: [UInt64: UInt32] = [:]
    private let limit: Int
    /// The number of the present list of all connections, from 1; 0 before the first.
    private(set) var listNumber: UInt32 = 0

    init(limit: Int) { self.limit = limit }

    /// True if no more connections are taken in.
    private var isFull: Bool { self.count >= self.limit }

    /// A list of all connections begins.
    mutating func beginList() { self.listNumber &+= 1 }

    /// The list that began was refused.
    mutating func cancelList() { self.listNumber &-= 1 }

    /// Calls `body` with a connection, to change it; nil if it is not known.
    mutating func update<Result>(_ cookie: UInt64, _ body: (inout TrackedConnection) -> Result) -> Result? {
        guard let place = self.places[cookie].map(Int.init) else { return nil }
        return body(&self.blocks[place / Self.blockSize][place % Self.blockSize])
    }

    /// The present list showed a connection.
    mutating func markSeen(_ cookie: UInt64) {
        let list = self.listNumber
        _ = self.update(cookie) { $0.listNumber = list }
    }

    /// Takes in a connection that is not known yet; false if there are too many.
    mutating func insert(_ connection: TrackedConnection) -> Bool {
        guard !self.isFull, self.places[connection.cookie] == nil else { return false }
        self.places[connection.cookie] = UInt32(self.count)
        if self.count == self.blocks.count * Self.blockSize {
            self.blocks.append([])
            self.blocks[self.blocks.count - 1].reserveCapacity(Self.blockSize)
        }
        self.blocks[self.count / Self.blockSize].append(connection)
        self.count += 1
        return true
    }

    /// Removes a connection, and returns it; nil if it is not known.
    @discardableResult
    mutating func remove(_ cookie: UInt64) -> TrackedConnection? {
        guard let place = self.places.removeValue(forKey: cookie).map(Int.init) else { return nil }
        let connection = self.blocks[place / Self.blockSize][place % Self.blockSize]
        let last = self.removeLast()
        guard last.cookie != cookie else { return connection }
        self.blocks[place / Self.blockSize][place % Self.blockSize] = last
        self.places[last.cookie] = UInt32(place)
        return connection
    }

    private mutating func removeLast() -> TrackedConnection {
        let block = (self.count - 1) / Self.blockSize
        let last = self.blocks[block].removeLast()
        if self.blocks[block].isEmpty { self.blocks.removeLast() }
        self.count -= 1
        return last
    }

    // Those that are being opened have lists of their own, of which there is one in so many of the others.
    private static let openingLists: UInt32 = 16

    /// Removes the connections that lists since this one would have shown: messages about their ends were lost.
    mutating func removeAll(notSeenSince list: UInt32) -> [TrackedConnection] {
        let gone = self.blocks.flatMap { block in
            block.filter { connection in
                let slack = connection.flags.contains(.established) ? 0 : Self.openingLists
                return connection.listNumber < list && list - connection.listNumber > slack
            }
        }
        for connection in gone { self.remove(connection.cookie) }
        return gone
    }
}
