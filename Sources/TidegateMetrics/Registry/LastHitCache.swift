/// Values by key; the next key is mostly the last one, and then none is hashed.
struct LastHitCache<Key: Hashable, Value> {
    private var byKey: [Key: Value] = [:]
    private var latest: (key: Key, value: Value)?

    mutating func find(_ key: Key) -> Value? {
        if let latest = self.latest, latest.key == key { return latest.value }
        guard let value = self.byKey[key] else { return nil }
        self.latest = (key, value)
        return value
    }

    mutating func insert(_ value: Value, for key: Key) {
        self.byKey[key] = value
        self.latest = (key, value)
    }
}
