@testable import TidegateDaemon

/// `docs/configuration.md`: the keys of the schema as tables.
enum ConfigurationReference {
    static let command = "TIDEGATE_WRITE_CONFIGURATION=1 swift test --filter ConfigurationTemplateTests/reference"

    static var text: String {
        let sections = ConfigurationSchema.root.compactMap(\.text).map { section in
            "## \(section.key)\n\n\(self.escaped(section.sentence))\n\n"
                + "| key | default, or an example in an entry of a list | meaning |\n|---|---|---|\n"
                + self.rows(section).dropFirst(section.isChapter && !section.sentence.isEmpty ? 1 : 0).joined()
        }
        return self.introduction + "\n" + sections.joined(separator: "\n")
    }

    private static let introduction = """
        # Configuration

        Every key of the file that `tidegate serve --config.file` reads. `tidegate generate config` prints the same as a
        file; `tidegate serve --config.check --config.file FILE` reports mistakes by line and key.

        - A file needs only the keys that differ from their defaults. `null` leaves a default.
        - A directory instead of a file: its `*.yml` files are one configuration, in the order of their names. Lists are
          appended. A value that two files set is an error, and so is a name that two entries have.
        - `[]` marks an entry of a list.
        - Durations are written as `500ms`, `10s`, `1m30s`, `2h` or `7d`, and `inf` where there may be no limit.
        - Sizes are written as `500MiB` or as a number of bytes.

        Generated from the schema in the code by `\(Self.command)`; a test fails if the two differ.

        """

    private static func rows(_ field: FieldText, below path: String = "", isEntry: Bool = false) -> [String] {
        let row = self.row(path + field.key, field.isChapter ? "" : field.standard, isEntry, field.sentence)
        let own = field.isChapter && field.sentence.isEmpty ? [] : [row]
        switch field.content {
        case .value: return own
        case .section(let fields):
            return own + fields.flatMap { self.rows($0, below: "\(path)\(field.key).", isEntry: isEntry) }
        case .sections(let fields):
            return own + fields.flatMap { self.rows($0, below: "\(path)\(field.key)[].", isEntry: true) }
        }
    }

    private static func row(_ key: String, _ standard: String, _ isEntry: Bool, _ sentence: String) -> String {
        let value = standard.isEmpty ? "" : "`\(standard)`"
        return "| `\(key)` | \(isEntry && standard != "null" && !value.isEmpty ? "such as \(value)" : value) | "
            + "\(self.escaped(sentence)) |\n"
    }

    private static func escaped(_ text: String) -> String { text.replacing("|", with: "\\|") }
}

extension FieldText {
    /// True if keys stand below it.
    fileprivate var isChapter: Bool { if case .value = self.content { false } else { true } }
}
