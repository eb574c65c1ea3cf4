/// Values by key, for look-ups that usually repeat the last key: those are answered without hashing.
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
