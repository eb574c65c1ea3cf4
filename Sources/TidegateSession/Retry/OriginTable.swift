internal import TidegateCore

/// Values by origin; it forgets what means nothing any more whenever it has doubled.
struct OriginTable<Value: Sendable>: Sendable {
    private let least: Int
    private var values: [Origin: Value] = [:]
    private var room: Int

    /// A table that is not looked through below `least` values.
    init(least: Int = 1024) {
        self.least = least
        self.room = least
    }

    var count: Int { self.values.count }

    var isEmpty: Bool { self.values.isEmpty }

    /// Every value, in no order.
    var all: some Sequence<(key: Origin, value: Value)> { self.values }

    subscript(origin: Origin) -> Value? {
        get { self.values[origin] }
        set { self.values[origin] = newValue }
    }

    /// Lends the origin's value, or a first one, for changing.
    mutating func use<Answer>(
        _ origin: Origin, orFirst first: @autoclosure () -> Value, _ change: (inout Value) -> Answer
    ) -> Answer {
        change(&self.values[origin, default: first()])
    }

    /// Forgets the values that mean nothing; looks only if the table has doubled since the last time.
    mutating func forget(where isMeaningless: (Value) -> Bool) {
        guard self.values.count >= self.room else { return }
        self.values = self.values.filter { !isMeaningless($0.value) }
        self.room = max(self.least, self.values.count * 2)
    }
}
