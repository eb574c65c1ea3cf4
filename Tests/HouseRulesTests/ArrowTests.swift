import Foundation
import Testing

/// The table of targets in docs/architecture.md is the law; the imports have to keep it.
@Suite struct ArrowTests {
    private struct Row {
        let ours: Set<String>
        let outside: Set<String>
    }

    private let tree = SourceTree()

    // What comes with the toolchain may be imported anywhere.
    private static let language: Set<String> = ["Synchronization", "Glibc", "FoundationEssentials", "Foundation"]

    /// Rows look like `| \`Target\` | sentence | Model, Loop | Hummingbird |`.
    private func table() throws -> [String: Row] {
        let page = try self.tree.read("docs/architecture.md")
        var rows: [String: Row] = [:]
        for line in page.split(separator: "\n") where line.hasPrefix("| `") {
            let cells = line.split(separator: "|", omittingEmptySubsequences: false).map {
                $0.trimmingCharacters(in: .whitespaces)
            }
            guard cells.count == 6 else { continue }
            func names(_ cell: String) -> [String] {
                cell.split(separator: ",").map { $0.trimmingCharacters(in: CharacterSet(charactersIn: " `")) }
            }
            let ours = names(cells[3]).map { Self.isSeam($0) || $0 == "Tidegate" ? $0 : "Tidegate\($0)" }
            for target in names(cells[1]) {
                rows[target] = Row(ours: Set(ours), outside: Set(names(cells[4])))
            }
        }
        return rows
    }

    private func imports(of file: SourceTree.File) -> [String] {
        file.lines.compactMap { line in
            let tokens = code(line).split(separator: " ")
            guard let position = tokens.firstIndex(of: "import"), position <= 2, tokens.count > position + 1 else {
                return nil
            }
            return tokens[(position + 1)...].last.map { String($0.split(separator: ".")[0]) }
        }
    }

    // CLinux wraps a C library; Core, and CEL without a second word, are targets of ours.
    private static func isSeam(_ name: String) -> Bool {
        name.hasPrefix("C") && name.dropFirst().first?.isUppercase == true && name != "CEL"
    }

    @Test("An arrow that is not in the table does not exist")
    func arrows() throws {
        let table = try self.table()
        #expect(table.count == 32)
        for file in try self.tree.files(below: "Sources") {
            let row = try #require(table[file.target], "\(file.target) has no row in the table")
            for name in self.imports(of: file) where !Self.language.contains(name) {
                #expect(
                    row.ours.contains(name) || row.outside.contains(name), "\(file.path) imports \(name)")
            }
        }
    }

    @Test("Every row of the table has its target, and every target its row")
    func rows() throws {
        let targets = try FileManager.default.contentsOfDirectory(
            atPath: self.tree.root.appendingPathComponent("Sources").path)
        #expect(Set(try self.table().keys) == Set(targets))
    }

    @Test("Every import says who may see it")
    func importAccess() throws {
        for file in try self.tree.files(below: "Sources") {
            for (number, line) in file.lines.enumerated() where line.contains("import ") {
                let tokens = code(line).split(separator: " ")
                guard let position = tokens.firstIndex(of: "import"), position <= 1 else { continue }
                #expect(
                    position == 1 && ["public", "package", "internal"].contains(tokens[0])
                        || tokens.first?.hasPrefix("@") == true,
                    "\(file.path):\(number + 1)")
            }
        }
    }
}
