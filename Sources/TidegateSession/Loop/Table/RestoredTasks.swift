/// Counts the tasks that an earlier process left, so that the end of the last one is noticed once.
struct RestoredTasks {
    private var count = 0
    private var left = 0
    /// Every one of them is counted.
    private var isComplete = false

    mutating func began() {
        self.count += 1
        self.left += 1
    }

    /// How many there were, if this was the last one.
    mutating func ended() -> Int? {
        self.left -= 1
        return self.isComplete && self.left == 0 ? self.count : nil
    }

    /// How many there are, if none is left.
    mutating func complete() -> Int? {
        guard !self.isComplete else { return nil }
        self.isComplete = true
        return self.left == 0 ? self.count : nil
    }
}
