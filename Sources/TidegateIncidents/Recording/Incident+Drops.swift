package import TidegateCore

extension Incident {
    // Neighbouring short drops become one if there are more.
    private static let mostDrops = 100

    /// Adds what is known of a later incident.
    mutating func merge(_ other: Incident) {
        self.append(other.drops, count: other.dropCount)
        self.targets.formUnion(other.targets)
        self.probes.formUnion(other.probes)
        self.attempts += other.attempts
        self.connections += other.connections
        if self.note.text == nil { self.note = other.note }
    }

    /// Adds drops after the last one.
    mutating func append(_ drops: [Drop], count: Int) {
        self.drops += drops
        self.dropCount += count
        while self.drops.count > Self.mostDrops {
            // The shortest pause is lost first.
            let pauses = zip(self.drops, self.drops.dropFirst()).map { $1.start.since($0.end ?? $1.start) }
            guard let place = pauses.indices.min(by: { pauses[$0] < pauses[$1] }) else { return }
            self.drops[place].end = self.drops.remove(at: place + 1).end
        }
    }

    /// Moves its beginning to an earlier time.
    mutating func backdate(to start: WallTime) { self.drops[0].start = min(start, self.start) }

    /// Ends the drop that lasts.
    package mutating func endDrop(at time: WallTime) {
        guard self.isDown else { return }
        self.drops[self.drops.count - 1].end = max(time, self.drops[self.drops.count - 1].start)
    }

    /// Moves the drop that lasts, after the wall clock was set.
    mutating func move(by step: Duration) {
        if self.isDown { self.drops[self.drops.count - 1].start += step }
    }

    /// It with its end.
    func ended(at end: WallTime, _ reason: EndReason, _ recovery: JSONValue) -> Incident {
        var ended = self
        ended.endDrop(at: end)
        (ended.end, ended.endReason, ended.recovery) = (max(end, self.start), reason, recovery)
        return ended
    }
}
