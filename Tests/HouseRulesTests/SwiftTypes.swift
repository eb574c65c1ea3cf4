import Foundation

/// A type of the project with everything that its module says about it: its body and its extensions.
struct TypeReport {
    /// The name with its outer types: `Session.State`.
    let name: String
    let module: String
    var declaringFile: String?
    var extensionFiles: Set<String> = []
}

/// Reads declarations of types out of Swift source: braces and keywords, no more.
struct TypeScanner {
    private struct Scope {
        /// The type whose body this is; nil for the body of anything else.
        let type: String?
        let depth: Int
        let isExtension: Bool
    }

    private(set) var types: [String: TypeReport] = [:]
    private let module: String

    init(module: String) {
        self.module = module
    }

    mutating func read(_ file: SourceTree.File) {
        var scopes: [Scope] = []
        var depth = 0
        var pending: (type: String, isExtension: Bool)?
        for line in strippedLines(of: file.text) {
            if let header = Self.header(of: line) {
                let outer = scopes.last { $0.type != nil }?.type
                let name = header.kind == "extension" || outer == nil ? header.name : "\(outer ?? "").\(header.name)"
                self.declare(name, header, in: file.path)
                pending = (name, header.kind == "extension")
            }
            for character in line {
                if character == "{" {
                    depth += 1
                    if let found = pending {
                        scopes.append(Scope(type: found.type, depth: depth, isExtension: found.isExtension))
                        pending = nil
                    }
                } else if character == "}" {
                    if scopes.last?.depth == depth { scopes.removeLast() }
                    depth -= 1
                }
            }
        }
    }

    private mutating func declare(_ name: String, _ header: Header, in path: String) {
        var report = self.types[name] ?? TypeReport(name: name, module: self.module)
        if header.kind == "extension" {
            report.extensionFiles.insert(path)
        } else {
            report.declaringFile = path
        }
        self.types[name] = report
    }

    private static func isModifier(_ token: Substring) -> Bool {
        let modifiers: Set<Substring> = [
            "public", "package", "internal", "private", "fileprivate", "private(set)", "package(set)", "internal(set)",
            "fileprivate(set)", "final", "lazy", "weak", "unowned", "static", "nonisolated", "unowned(unsafe)",
        ]
        return modifiers.contains(token) || token.hasPrefix("@")
    }

    struct Header {
        let kind: String
        let name: String
    }

    static func header(of line: String) -> Header? {
        let tokens = line.split(whereSeparator: { " \t".contains($0) })
        let kinds: Set<Substring> = ["struct", "class", "enum", "actor", "protocol", "extension"]
        guard let position = tokens.firstIndex(where: { kinds.contains($0) }), position + 1 < tokens.count,
            tokens[..<position].allSatisfy({ Self.isModifier($0) || $0 == "indirect" })
        else { return nil }
        let name = tokens[position + 1].prefix { $0.isLetter || $0.isNumber || $0 == "_" || $0 == "." }
        guard name.first?.isUppercase == true else { return nil }
        return Header(kind: String(tokens[position]), name: String(name))
    }
}

/// The lines of Swift source without comments and without the text of string literals, multi-line ones included.
func strippedLines(of text: String) -> [String] {
    var isMultiline = false
    return text.split(separator: "\n", omittingEmptySubsequences: false).map { line in
        let quotes = line.components(separatedBy: "\"\"\"").count - 1
        defer { if quotes % 2 == 1 { isMultiline.toggle() } }
        if isMultiline { return "" }
        if quotes > 0 { return code(line[..<(line.range(of: "\"\"\"")?.lowerBound ?? line.endIndex)]) }
        return code(Substring(line.replacing(/#".*?"#/, with: "\"\"")))
    }
}
