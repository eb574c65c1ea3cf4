import Foundation
import Testing

/// The public declarations are a checked-in list, so that a new one is a decision.
@Suite struct PublicAPITests {
    private static let path = "Tests/HouseRulesTests/PublicAPI.txt"
    private let tree = SourceTree()

    /// Run with `TIDEGATE_UPDATE_PUBLIC_API=1` to write the list anew.
    @Test("The public declarations are those of the list")
    func list() throws {
        let found = try self.tree.files(below: "Sources").flatMap(Self.declarations).sorted()
        if ProcessInfo.processInfo.environment["TIDEGATE_UPDATE_PUBLIC_API"] != nil {
            let text = found.joined(separator: "\n") + "\n"
            try text.write(
                to: self.tree.root.appendingPathComponent(Self.path), atomically: true, encoding: .utf8)
        }
        let listed = try self.tree.read(Self.path).split(separator: "\n").map(String.init)
        for declaration in Set(found).subtracting(listed).sorted() { Issue.record("not in the list: \(declaration)") }
        for declaration in Set(listed).subtracting(found).sorted() {
            Issue.record("not public any more: \(declaration)")
        }
    }

    @Test("A declaration is found with its type, over several lines, and without its body")
    func scanning() {
        let text = """
            public struct A {
                public var b: Int { 1 }
                package var c = 2
                public func d(
                    e: Int
                ) -> Int { e }
            }
            extension A.B { public static let f = "public func" }
            """
        #expect(
            Self.declarations(of: SourceTree.File(path: "Sources/M/A.swift", text: text)) == [
                "M public struct A", "M A.public var b: Int", "M A.public func d(e: Int) -> Int",
                "M A.B.public static let f",
            ])
    }

    /// The public declarations of a file, each with its module and the types around it.
    static func declarations(of file: SourceTree.File) -> [String] {
        var found: [String] = []
        var types: [(name: String, depth: Int)] = []
        var depth = 0
        var pending = ""
        for line in strippedLines(of: file.text) {
            let text = line.trimmingCharacters(in: .whitespaces)
            if let header = TypeScanner.header(of: line) { types.append((header.name, depth)) }
            for part in text.components(separatedBy: "{ ") where part.hasPrefix("public ") || !pending.isEmpty {
                if part.hasPrefix("public import") { continue }
                pending += (pending.isEmpty || pending.hasSuffix("(") ? "" : " ") + part
                guard pending.filter({ $0 == "(" }).count == pending.filter({ $0 == ")" }).count else { continue }
                // A type stands around its members, not around itself.
                let isType = TypeScanner.header(of: pending) != nil
                let around = types.dropLast(isType ? 1 : 0).map(\.name).joined(separator: ".")
                found.append("\(file.target) \(around.isEmpty ? "" : around + ".")\(Self.signature(pending))")
                pending = ""
            }
            for character in line {
                if character == "{" { depth += 1 }
                if character == "}" { depth -= 1 }
            }
            if line.contains("{") || line.contains("}") { types.removeAll { $0.depth >= depth } }
        }
        return found
    }

    /// A declaration without its body, its value and its line breaks.
    private static func signature(_ declaration: String) -> String {
        var text = declaration
        for end in [" {", " = "] {
            if let range = text.range(of: end), !text[..<range.lowerBound].hasSuffix("(") {
                let isDefault = end == " = " && text[..<range.lowerBound].contains("(")
                if !isDefault { text = String(text[..<range.lowerBound]) }
            }
        }
        return text.replacingOccurrences(of: "( ", with: "(").replacingOccurrences(of: " )", with: ")")
            .trimmingCharacters(in: .whitespaces)
    }
}
