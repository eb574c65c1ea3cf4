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
        if self.first == self.end {
            (self.first, self.end) = (0, 0)
            if self.slots.count > Self.kept { self.slots = [] }
        } else if self.first > 64, self.first * 2 > self.end {
            // The queue may never be empty.
            self.slots.removeFirst(self.first)
            (self.first, self.end) = (0, self.end - self.first)
        }
        return element
    }
}

extension ReusedQueue: Sendable where Element: Sendable {}
