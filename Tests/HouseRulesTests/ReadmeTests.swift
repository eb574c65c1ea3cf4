import Foundation
import Testing

@Suite struct ReadmeTests {
    private let tree = SourceTree()

    /// The lines of the README's `sh` blocks.
    private func commands() throws -> [Substring] {
        var isShell = false
        return try self.tree.read("README.md").split(separator: "\n").filter { line in
            if line.hasPrefix("```") {
                isShell = line == "```sh"
                return false
            }
            return isShell
        }
    }

    @Test("Every make target that the README names is in the Makefile")
    func makeTargets() throws {
        let makefile = try self.tree.read("Makefile")
        let named = try self.commands().compactMap { line -> Substring? in
            let tokens = line.split(separator: " ")
            return tokens.first == "make" && tokens.count > 1 ? tokens[1] : nil
        }
        #expect(Set(named).isSuperset(of: ["run", "test"]))
        for target in named { #expect(makefile.contains("\n\(target):"), "make \(target)") }
    }

    @Test("The example of library use is one that compiles")
    func example() throws {
        let readme = try self.tree.read("README.md")
        let block = try #require(readme.components(separatedBy: "```swift\n").dropFirst().first)
        let lines = try #require(block.components(separatedBy: "```").first).split(separator: "\n")
        let compiled = try self.tree.read("Tests/TidegateTests/MonitorTests.swift")
        #expect(lines.count == 5)
        for line in lines {
            let text = line.components(separatedBy: "  //")[0].trimmingCharacters(in: .whitespaces)
            #expect(compiled.contains(text), "\(line)")
        }
    }

    @Test("The examples of the library's documentation are lines of the client package, which is built and run")
    func documentation() throws {
        let folder = "Sources/Tidegate/Tidegate.docc"
        let client = "Tests/ClientPackage/Sources/Client"
        let names = try FileManager.default.contentsOfDirectory(
            atPath: self.tree.root.appendingPathComponent(client).path)
        let compiled = try names.flatMap { name in
            try self.tree.read("\(client)/\(name)").split(separator: "\n").map(Self.trimmed)
        }
        let articles = try FileManager.default.contentsOfDirectory(
            atPath: self.tree.root.appendingPathComponent(folder).path)
        #expect(articles.count == 12)
        for article in articles {
            let blocks = try self.tree.read("\(folder)/\(article)").components(separatedBy: "```swift\n").dropFirst()
            #expect(!blocks.isEmpty || article == "Tidegate.md", "\(article) has no example")
            for line in blocks.flatMap({ $0.components(separatedBy: "```")[0].split(separator: "\n") }) {
                #expect(compiled.contains(Self.trimmed(line)), "\(article): \(line)")
            }
        }
    }

    private static func trimmed(_ line: Substring) -> String { line.trimmingCharacters(in: .whitespaces) }

    @Test("The README leads to every page of docs")
    func pages() throws {
        let readme = try self.tree.read("README.md")
        for page in try self.tree.files(below: "docs", ending: ".md") {
            #expect(readme.contains("](\(page.path))"), "\(page.path)")
        }
    }

    @Test("Runbook links of the alerts lead to headings of the runbook")
    func runbooks() throws {
        let headings = try self.tree.read("docs/metrics.md").split(separator: "\n").filter { $0.hasPrefix("#") }
            .map {
                $0.drop { $0 == "#" || $0 == " " }.lowercased().replacingOccurrences(of: " ", with: "-")
            }
        let alerts = try self.tree.read("dashboards/alerts.yml").split(separator: "\n")
        let links = alerts.filter { $0.contains("runbook_url:") }
        #expect(!links.isEmpty)
        for link in links {
            let anchor = link.split(separator: "#").last.map { $0.filter { $0 != "\"" } } ?? ""
            #expect(headings.contains(anchor), "\(link)")
        }
    }
}
