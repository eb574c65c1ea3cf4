/// Anchored regular expressions over interface names, with a cache of their results.
struct NamePatterns {
    private let patterns: [Regex<AnyRegexOutput>]
    private var known: [String: Bool] = [:]

    /// Patterns that a configuration has already accepted.
    init(_ patterns: [String]) {
        self.patterns = patterns.compactMap { try? Regex($0) }
    }

    /// True when one of the patterns matches a link's name, or one of its alternative names.
    mutating func match(_ name: String, or others: [String]) -> Bool {
        if self.match(name) { return true }
        for other in others where self.match(other) { return true }
        return false
    }

    /// True when one of the patterns matches the whole name.
    mutating func match(_ name: String) -> Bool {
        if let answer = self.known[name] { return answer }
        // Names of container links never repeat, so the cache would grow without end.
        if self.known.count > 4096 { self.known = [:] }
        let answer = self.patterns.contains { (try? $0.wholeMatch(in: name)) ?? nil != nil }
        self.known[name] = answer
        return answer
    }
}
