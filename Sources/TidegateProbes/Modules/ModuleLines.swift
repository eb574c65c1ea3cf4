/// Edits a module's text, which has one line per key, indented by two spaces per section.
enum ModuleLines {
    /// Adds a key to a section; missing or empty sections are created.
    static func text(_ text: String, adding key: (name: String, value: String), to section: [String]) -> String {
        var lines = text.split(separator: "\n").map(String.init)
        var position = lines.count
        for (depth, name) in section.enumerated() {
            let indent = String(repeating: "  ", count: depth)
            let start = depth == 0 ? 0 : position
            let inner = lines[start...].prefix { depth == 0 || $0.hasPrefix(indent) }
            if let found = inner.firstIndex(where: { $0.hasPrefix("\(indent)\(name):") }) {
                lines[found] = "\(indent)\(name):"
                position = found + 1
            } else {
                lines.insert("\(indent)\(name):", at: inner.endIndex)
                position = inner.endIndex + 1
            }
        }
        let indent = String(repeating: "  ", count: section.count)
        lines.insert("\(indent)\(key.name): \(key.value)", at: position)
        return lines.joined(separator: "\n") + "\n"
    }
}
