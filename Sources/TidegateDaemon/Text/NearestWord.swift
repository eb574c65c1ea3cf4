/// Finds what somebody may have meant.
package enum NearestWord {
    /// The word at most two edits away from `text`; nil where none is, or where the edits would be half of the word.
    package static func find(_ text: String, among words: [String]) -> String? {
        let ranked = words.map { (word: $0, edits: self.edits(from: Array(text), to: Array($0))) }
        guard let best = ranked.min(by: { $0.edits < $1.edits }), best.edits <= 2, best.edits * 2 < best.word.count
        else { return nil }
        return best.word
    }

    // Levenshtein's distance, a row at a time.
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
