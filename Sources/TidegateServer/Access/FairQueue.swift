/// A bounded queue in which every peer has its turn.
struct FairQueue<Element: Sendable>: Sendable {
    private let limit: Int
    // In the order of their turns; a peer without elements is not in it.
    private var lines: [(peer: PeerAddress, elements: [Element])] = []

    init(limit: Int) { self.limit = limit }

    /// How many elements wait.
    var count: Int { self.lines.reduce(0) { $0 + $1.elements.count } }

    /// Adds an element at the end of its peer's line.
    ///
    /// - Returns: The element for which there is no place: the last one of the longest line, or this one.
    mutating func add(_ element: Element, for peer: PeerAddress) -> Element? {
        let own = self.lines.firstIndex { $0.peer == peer }
        var dropped: Element?
        if self.count >= self.limit {
            let length = own.map { self.lines[$0].elements.count } ?? 0
            guard let longest = self.lines.indices.max(by: { self.length($0) < self.length($1) }),
                self.length(longest) > length + 1
            else { return element }
            dropped = self.lines[longest].elements.popLast()
        }
        if let own { self.lines[own].elements.append(element) } else { self.lines.append((peer, [element])) }
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
