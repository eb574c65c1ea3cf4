import Foundation
import Testing

/// The articles of the library's documentation, beside what they speak of.
@Suite struct ArticleTests {
    private let tree = SourceTree()
    private static let folder = "Sources/Tidegate/Tidegate.docc"

    @Test("Every public name of AFNetworking is in the article for those who know it")
    func names() throws {
        let article = try self.tree.read("\(Self.folder)/ComingFromAFNetworking.md")
        let names = try self.tree.read("Tests/HouseRulesTests/AFNetworkingNames.txt").split(separator: "\n")
            .filter { !$0.hasPrefix("#") }
        #expect(names.count > 150)
        #expect(names.filter { !article.contains("`\($0)`") } == [])
    }

    @Test("What the articles link to is public")
    func links() throws {
        let declared = try Declarations(
            self.tree.read("Tests/HouseRulesTests/PublicAPI.txt"), self.tree.files(below: "Sources"))
        let articles = try FileManager.default.contentsOfDirectory(
            atPath: self.tree.root.appendingPathComponent(Self.folder).path)
        for article in articles {
            // Between every other pair of double backticks.
            let parts = try self.tree.read("\(Self.folder)/\(article)").replacingOccurrences(of: "```", with: "")
                .components(separatedBy: "``")
            let links = parts.indices.filter { $0 % 2 == 1 }.map { parts[$0] }
            for link in links where !declared.contains(link) { Issue.record("\(article): \(link)") }
        }
    }
}

/// The types and members that the list of public declarations has, without their arguments; with cases of enumerations
/// and requirements of protocols, which it has not.
private struct Declarations {
    private var types: Set<String> = ["Tidegate"]
    private var members: Set<String> = []

    private let sources: [SourceTree.File]

    init(_ list: String, _ sources: [SourceTree.File]) {
        self.sources = sources
        for line in list.split(separator: "\n") {
            guard let dot = line.range(of: "public ") else { continue }
            let owner = line[..<dot.lowerBound].split(separator: " ").last ?? ""
            let tokens = line[dot.upperBound...].split(separator: " ")
            let kinds: Set<Substring> = ["class", "struct", "enum", "protocol", "func", "var", "let", "typealias"]
            if let kind = tokens.firstIndex(where: kinds.contains), kind + 1 < tokens.count {
                let name = tokens[kind + 1].prefix { $0.isLetter || $0.isNumber || $0 == "_" }
                if owner.hasSuffix(".") {
                    self.members.insert("\(owner.dropLast())/\(name)")
                } else {
                    self.types.insert("\(name)")
                }
            } else if owner.hasSuffix(".") {
                self.members.insert("\(owner.dropLast())/init")
            }
        }
    }

    func contains(_ link: String) -> Bool {
        let parts = link.split(separator: "/").map { $0.prefix { $0.isLetter || $0.isNumber || $0 == "_" } }
        guard let type = parts.first, self.types.contains("\(type)") else { return false }
        return parts.count == 1 || self.members.contains("\(type)/\(parts[1])") || self.declares(type, parts[1])
    }

    private func declares(_ type: Substring, _ member: Substring) -> Bool {
        self.sources.contains { file in
            ["public enum \(type):", "public protocol \(type):"].contains(where: file.text.contains)
                && ["case \(member)(", "func \(member)("].contains(where: file.text.contains)
        }
    }
}
