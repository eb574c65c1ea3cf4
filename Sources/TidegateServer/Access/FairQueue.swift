/// A bounded queue in which every peer has its turn.
struct FairQueue<Element: Sendable>: Sendable {
    private let limit: Int
    private let limitOfPeer: Int
    // In the order of their turns; a peer without elements is not in it.
    private var lines: [(peer: PeerAddress, elements: [Element])] = []

    /// A queue of at most `limit` elements, and at most `limitOfPeer` of one peer.
    init(limit: Int, limitOfPeer: Int) { (self.limit, self.limitOfPeer) = (limit, limitOfPeer) }

    /// How many elements wait.
    var count: Int { self.lines.reduce(0) { $0 + $1.elements.count } }

    /// Adds an element at the end of its peer's line; a new line of a preferred peer has the turn after the next.
    ///
    /// - Returns: The element for which there is no place: the last one of the longest line, or this one.
    mutating func add(_ element: Element, for peer: PeerAddress, isPreferred: Bool = false) -> Element? {
        let own = self.lines.firstIndex { $0.peer == peer }
        let length = own.map(self.length) ?? 0
        guard length < self.limitOfPeer else { return element }
        var dropped: Element?
        if self.count >= self.limit {
            // The last of the longest: those before it have waited longer.
            guard let longest = self.lines.indices.reversed().max(by: { self.length($0) < self.length($1) }),
                self.length(longest) > length + (isPreferred ? 0 : 1)
            else { return element }
            dropped = self.lines[longest].elements.popLast()
            if self.lines[longest].elements.isEmpty { self.lines.remove(at: longest) }
        }
        if let own {
            self.lines[own].elements.append(element)
        } else {
            self.lines.insert((peer, [element]), at: isPreferred ? min(1, self.lines.endIndex) : self.lines.endIndex)
        }
        return dropped
    }

    /// Takes the next element: each peer has one at a time.
    mutating func next() -> Element? {
        guard !self.lines.isEmpty else { return nil }
        var line = self.lines.removeFirst()
        let element = line.elements.removeFirst()
        if !line.elements.isEmpty { self.lines.append(line) }
        return element
    }

    private func length(_ index: Int) -> Int { self.lines[index].elements.count }
}
