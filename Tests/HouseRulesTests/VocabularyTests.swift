import Foundation
import Testing

/// Names are the field's words; docs/architecture.md says what the less common ones mean.
@Suite struct VocabularyTests {
    private let tree = SourceTree()

    /// Metaphors and private words that identifiers do not use, whole or as a part of a camelCase name.
    private static let retired: Set<String> = [
        "tell", "tells", "told", "telling", "desk", "desks", "hear", "hears", "hearing", "hearings", "heard", "hearer",
        "hearers", "sight", "blind", "blindness", "board", "ledger", "book", "story", "judge", "judges", "judging",
        "dice", "tap", "pen", "poke", "poked", "pokes", "poker", "bury", "buried", "swept", "unswept", "climb",
        "climber", "climbed", "climbing", "survey", "words", "farewell", "keeper", "watchkeeper", "epoch", "alarm",
        "rang", "appoint", "asker", "sleepers", "asleep", "owes", "rig", "victim", "workbench",
    ]

    /// Identifiers in which such a word is the field's own: the Unix epoch, tap(4) devices.
    private static let allowed: Set<String> = ["daysSinceEpoch", "nanosecondsSinceEpoch", "tapLink"]

    @Test("No identifier uses a retired word", arguments: ["Sources", "Tests"])
    func retiredComponents(_ folder: String) throws {
        for file in try self.tree.files(below: folder) {
            for identifier in identifiers(in: file) where !Self.allowed.contains(identifier) {
                for component in camelCaseComponents(of: identifier) where Self.retired.contains(component) {
                    Issue.record("\(file.path): \(identifier) has “\(component)”")
                }
            }
        }
    }

    /// Head nouns that every Swift or network engineer knows: Swift's own, and those of RFCs.
    private static let ordinary: Set<String> = [
        "address", "bus", "clock", "credentials", "data", "digest", "direction", "durations", "error", "field",
        "format",
        "headers", "id", "info", "iterator", "kind", "mode", "name", "prefix", "scheme", "state", "time", "type", "url",
        "version",
    ]

    @Test("The last word of every public type's name is in the glossary of docs/architecture.md")
    func headNouns() throws {
        let glossary = Self.glossary(in: try self.tree.read("docs/architecture.md"))
        #expect(glossary.isSuperset(of: ["verdict", "rung", "circuit"]))
        for line in try self.tree.read("Tests/HouseRulesTests/PublicAPI.txt").split(separator: "\n") {
            guard let type = Self.publicType(in: line), let noun = camelCaseComponents(of: type).last else { continue }
            let isKnown = [noun, noun.hasSuffix("s") ? String(noun.dropLast()) : noun + "s"].contains {
                glossary.contains($0) || Self.ordinary.contains($0)
            }
            if !isKnown { Issue.record("“\(noun)” of \(type) is not in the glossary") }
        }
    }

    @Test("A row of the glossary has one meaning")
    func glossaryRows() throws {
        for row in Self.rows(in: try self.tree.read("docs/architecture.md")) {
            // Words of other programs share a row.
            #expect(!row.components(separatedBy: "**")[1].contains(",") || row.contains("| as in "), "\(row)")
            #expect(!row.contains(" / "), "\(row)")
        }
    }

    /// The words that the glossary's tables define: what stands in bold, between commas.
    private static func glossary(in page: String) -> Set<String> {
        let cells = self.rows(in: page).map { $0.components(separatedBy: "**")[1] }
        return Set(cells.flatMap { $0.split(separator: ",") }.map { $0.trimmingCharacters(in: .whitespaces) })
    }

    private static func rows(in page: String) -> [Substring] {
        let section = page.components(separatedBy: "## Glossary").last?.components(separatedBy: "\n## ").first ?? ""
        return section.split(separator: "\n").filter { $0.hasPrefix("| **") }
    }

    /// The name of the type that a line of the list declares; nil if it declares something else.
    private static func publicType(in line: Substring) -> String? {
        let parts = line.split(separator: " ")
        guard let keyword = parts.firstIndex(where: { ["struct", "class", "enum", "protocol"].contains($0) }),
            parts[..<keyword].last == "final" || parts[..<keyword].last?.hasSuffix("public") == true,
            keyword + 1 < parts.count
        else { return nil }
        return parts[keyword + 1].split { !$0.isLetter && !$0.isNumber }.first.map(String.init)
    }

    /// Phrases of a translation, from the start of a word; a native engineer names the actor instead.
    private static let habits = [
        "nobody", "somebody", "whoever", "everybody", "whose it was", "of which", "there is none", "for ever\\b",
        "as it is", "as it has", "is told", "is said", "one's own", "by itself,",
    ]

    @Test("Comments and pages have none of the habits of a translation")
    func translatedPhrases() throws {
        var texts: [(path: String, text: String)] = []
        for folder in ["Sources", "Tests"] {
            texts += try self.tree.files(below: folder).map { ($0.path, Self.comments(of: $0)) }
        }
        for folder in ["Sources", "docs"] {
            texts += try self.tree.files(below: folder, ending: ".md").map { ($0.path, $0.text) }
        }
        for path in ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "dashboards/README.md", "packaging/README.md"] {
            texts.append((path, try self.tree.read(path)))
        }
        for (path, text) in texts {
            let text = Self.unwrapped(text)
            for habit in try Self.habits(in: text) {
                Issue.record("\(path): “\(text[habit.lowerBound...].prefix(60))”")
            }
        }
    }

    @Test("A habit is found across lines, whatever its case, and not in code")
    func habitSearch() throws {
        let lines = [
            "/// The path; nil if there", "/// is none. Nobody knows.", "let text = \"somebody\"", "// Runs for",
            "let ever = 1", "// ever, for every task.",
        ]
        let file = SourceTree.File(path: "A.swift", text: lines.joined(separator: "\n"))
        let text = Self.unwrapped(Self.comments(of: file))
        #expect(try Self.habits(in: text).map { text[$0] } == ["there is none", "Nobody"])
    }

    /// The text of a file's comment lines; a dot stands for the code between two comments.
    private static func comments(of file: SourceTree.File) -> String {
        file.lines.map { line in
            let text = line.drop { $0 == " " }
            return text.hasPrefix("//") ? String(text.drop { $0 == "/" }) : "·"
        }.joined(separator: "\n")
    }

    /// A text on a single line.
    private static func unwrapped(_ text: String) -> String {
        text.split { $0.isWhitespace }.joined(separator: " ").replacing(/·( ·)+/, with: "·")
    }

    /// Where the habits are in a text on a single line.
    private static func habits(in text: String) throws -> [Range<String.Index>] {
        let pattern = "\\b(?:\(self.habits.joined(separator: "|")))"
        let search = try NSRegularExpression(pattern: pattern, options: .caseInsensitive)
        return search.matches(in: text, range: NSRange(text.startIndex..., in: text)).compactMap {
            Range($0.range, in: text)
        }
    }

    @Test("A name is taken apart where a reader would")
    func components() {
        #expect(camelCaseComponents(of: "tellFirst") == ["tell", "first"])
        #expect(camelCaseComponents(of: "DNSDesk") == ["dns", "desk"])
        #expect(camelCaseComponents(of: "tg_take_error") == ["tg", "take", "error"])
        #expect(camelCaseComponents(of: "IPv6Address") == ["i", "pv6", "address"])
        #expect(camelCaseComponents(of: "keyboard") == ["keyboard"])
    }
}

/// The parts of a camelCase or snake_case name, in lower case.
func camelCaseComponents(of identifier: String) -> [String] {
    var components: [String] = []
    var current = ""
    let characters = Array(identifier)
    for (index, character) in characters.enumerated() {
        let next = index + 1 < characters.count ? characters[index + 1] : nil
        let previous = index > 0 ? characters[index - 1] : nil
        let begins = character.isUppercase && (previous?.isUppercase != true || next?.isLowercase == true)
        if character == "_" || begins {
            if !current.isEmpty { components.append(current.lowercased()) }
            current = ""
        }
        if character != "_" { current.append(character) }
    }
    if !current.isEmpty { components.append(current.lowercased()) }
    return components
}
