/// Suggestions for misspelled names.
package enum NearestMatch {
    /// The candidate at most two edits away from `text`; nil without one, or if the edits reach half of the candidate's
    /// length.
    package static func find(_ text: String, among candidates: [String]) -> String? {
        let ranked = candidates.map { (name: $0, edits: self.edits(from: Array(text), to: Array($0))) }
        guard let best = ranked.min(by: { $0.edits < $1.edits }), best.edits <= 2, best.edits * 2 < best.name.count
        else { return nil }
        return best.name
    }

    // The Levenshtein distance, computed row by row.
    private static func edits(from left: [Character], to right: [Character]) -> Int {
        var row = Array(0...right.count)
        for (line, character) in left.enumerated() {
            var diagonal = row[0]
            row[0] = line + 1
            for (column, other) in right.enumerated() {
                let substituted = diagonal + (character == other ? 0 : 1)
                diagonal = row[column + 1]
                row[column + 1] = min(substituted, diagonal + 1, row[column] + 1)
            }
        }
        return row[right.count]
    }
}
