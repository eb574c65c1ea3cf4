import Foundation
import Testing

/// The project's own files, as the house rules read them.
struct SourceTree {
    struct File {
        let path: String
        let text: String

        var lines: [Substring] { self.text.split(separator: "\n", omittingEmptySubsequences: false) }
        /// The folder below Sources or Tests that the file belongs to.
        var target: String { self.path.split(separator: "/").dropFirst().first.map(String.init) ?? "" }
    }

    let root: URL

    init(file: String = #filePath) {
        self.root = URL(fileURLWithPath: file).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
    }

    func read(_ path: String) throws -> String {
        try String(contentsOf: self.root.appendingPathComponent(path), encoding: .utf8)
    }

    /// Every file below `folder` whose name ends as asked, with its path from the top.
    func files(below folder: String, ending: String = ".swift") throws -> [File] {
        let base = self.root.appendingPathComponent(folder)
        let walk = try #require(FileManager.default.enumerator(atPath: base.path))
        var files: [File] = []
        // What the benchmarks' peers fetch and build below `Tests` is not the project's.
        for case let name as String in walk where name.hasSuffix(ending) && !name.contains(".build/") {
            files.append(File(path: "\(folder)/\(name)", text: try self.read("\(folder)/\(name)")))
        }
        // A rule that reads no file would hold.
        try #require(!files.isEmpty, "no file below \(folder)")
        return files.sorted { $0.path < $1.path }
    }

    func folders(below folder: String) throws -> [String] {
        let base = self.root.appendingPathComponent(folder)
        let walk = try #require(FileManager.default.enumerator(atPath: base.path))
        return walk.compactMap { $0 as? String }.filter {
            var isFolder: ObjCBool = false
            let path = base.appendingPathComponent($0).path
            return FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) && isFolder.boolValue
        }
    }

    /// The files that git tracks or would track, from the top; empty outside a checkout.
    func topLevel() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: self.root.path)
    }
}

/// The lines of test functions, counted from 0: each from `@Test` to the brace that closes the function.
func testLines(of file: SourceTree.File) -> Set<Int> {
    var lines: Set<Int> = []
    var indent: Substring?
    for (number, line) in file.lines.enumerated() {
        let text = line.drop { $0 == " " }
        if text.hasPrefix("@Test") { indent = line.prefix { $0 == " " } }
        guard let start = indent else { continue }
        lines.insert(number)
        if line == start + "}" || text.contains("func ") && text.hasSuffix("}") { indent = nil }
    }
    return lines
}

/// A line of Swift without its comment and without the text of its string literals.
func code(_ line: Substring) -> String {
    var result = ""
    var isText = false
    var previous: Character = " "
    for character in line {
        if character == "\"", previous != "\\" { isText.toggle() }
        if !isText, character == "/", previous == "/" {
            result.removeLast()
            break
        }
        if !isText || character == "\"" { result.append(character) }
        previous = character
    }
    return result
}
