internal import Synchronization

/// The exemplars of one series, one for each bucket; a scrape removes none, it only lets newer ones in.
///
/// Between two scrapes a slot is filled once: recording costs one atomic load in all other cases.
final class ExemplarSlots: Sendable {
    private let wanted: Atomic<UInt32>
    private let all: UInt32
    private let slots: Mutex<[Exemplar?]>

    /// Places for at most 32 buckets.
    init(count: Int) {
        let places = min(max(1, count), 32)
        self.all = places == 32 ? .max : 1 << UInt32(places) - 1
        self.wanted = Atomic(self.all)
        self.slots = Mutex(Array(repeating: nil, count: places))
    }

    /// Keeps `value`'s source, if its place still waits for one.
    func offer(_ source: Exemplar.Source, _ value: Double, at place: Int) {
        let bit: UInt32 = 1 << UInt32(truncatingIfNeeded: place)
        guard self.wanted.load(ordering: .relaxed) & bit != 0 else { return }
        let before = self.wanted.bitwiseAnd(~bit, ordering: .relaxed).oldValue
        guard before & bit != 0 else { return }
        self.slots.withLock { slots in
            guard slots.indices.contains(place) else { return }
            slots[place] = Exemplar(source: source, value: value)
        }
    }

    /// The exemplars now, by place; newer ones are wanted from here on.
    func take() -> [Exemplar?] {
        self.wanted.store(self.all, ordering: .relaxed)
        return self.slots.withLock { $0 }
    }
}
