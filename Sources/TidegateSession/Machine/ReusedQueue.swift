internal import DequeModule

/// A queue that is filled and emptied repeatedly and keeps its memory.
struct ReusedQueue<Element> {
    private var elements = Deque<Element>()
    // How many there were at once since the memory was freed.
    private var most = 0

    // The memory of larger bursts is freed.
    private static var kept: Int { 4096 }

    var count: Int { self.elements.count }

    mutating func append(_ element: consuming Element) {
        self.elements.append(element)
        self.most = max(self.most, self.elements.count)
    }

    /// Removes the oldest element; nil if the queue is empty.
    mutating func takeFirst() -> Element? {
        let first = self.elements.popFirst()
        if self.elements.isEmpty, self.most > Self.kept { (self.elements, self.most) = (Deque(), 0) }
        return first
    }
}

extension ReusedQueue: Sendable where Element: Sendable {}
