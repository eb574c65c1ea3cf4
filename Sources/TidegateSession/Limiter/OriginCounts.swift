internal import TidegateCore

/// A number for each origin, 0 if none was set.
///
/// The latest origin's is kept apart, because it is mostly the next one's, and is found without hashing.
struct OriginCounts: Sendable {
    private var others: [Origin: Int] = [:]
    private var latest: Origin?
    private var latestCount = 0

    subscript(origin: Origin) -> Int { self.latest == origin ? self.latestCount : self.others[origin] ?? 0 }

    /// Adds to an origin's number, which never gets below 0.
    mutating func add(_ number: Int, to origin: Origin) {
        if self.latest != origin {
            if let latest, self.latestCount > 0 { self.others[latest] = self.latestCount }
            (self.latest, self.latestCount) = (origin, self.others.removeValue(forKey: origin) ?? 0)
        }
        self.latestCount = max(0, self.latestCount + number)
    }
}
