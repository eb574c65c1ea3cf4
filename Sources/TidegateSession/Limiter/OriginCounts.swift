internal import TidegateCore

/// A number for each origin, 0 if none was set.
///
/// The latest origin's is kept apart, because it is mostly the next one's, and is found without hashing.
struct OriginCounts: Sendable {
    private var others: [Origin: Int] = [:]
    private var latest: (origin: Origin, count: Int)?

    subscript(origin: Origin) -> Int {
        get {
            if let latest, latest.origin == origin { return latest.count }
            return self.others[origin] ?? 0
        }
        set {
            if let latest, latest.origin != origin, latest.count > 0 { self.others[latest.origin] = latest.count }
            if latest?.origin != origin { self.others[origin] = nil }
            self.latest = (origin, newValue)
        }
    }
}
