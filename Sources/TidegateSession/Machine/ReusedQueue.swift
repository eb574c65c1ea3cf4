/// A queue that is filled and emptied repeatedly and keeps its memory.
struct ReusedQueue<Element> {
    // Emptied in place: removing elements from an array costs more than most elements.
    private var slots: [Element?] = []
    private var first = 0
    private var end = 0

    // The memory of larger bursts is freed.
    private static var kept: Int { 4096 }

    var count: Int { self.end - self.first }

    mutating func append(_ element: consuming Element) {
        if self.end < self.slots.count { self.slots[self.end] = element } else { self.slots.append(element) }
        self.end += 1
    }

    /// Removes the oldest element; nil if the queue is empty.
    mutating func takeFirst() -> Element? {
        guard self.first < self.end else { return nil }
        let element = self.slots[self.first].take()
        self.first += 1
        guard self.first == self.end else { return element }
        (self.first, self.end) = (0, 0)
        if self.slots.count > Self.kept { self.slots = [] }
        return element
    }
}
