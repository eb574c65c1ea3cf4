import Foundation
import Testing

/// A type stays in few files, and a component is a folder.
@Suite struct TypeLawTests {
    private let tree = SourceTree()

    private func types() throws -> [TypeReport] {
        var scanners: [String: TypeScanner] = [:]
        for file in try self.tree.files(below: "Sources") {
            scanners[file.target, default: TypeScanner(module: file.target)].read(file)
        }
        return scanners.values.flatMap(\.types.values).sorted { ($0.module, $0.name) < ($1.module, $1.name) }
    }

    @Test("A type is extended in at most two files of its module besides its own")
    func extensionFiles() throws {
        for type in try self.types() where type.declaringFile != nil {
            let files = type.extensionFiles.subtracting([type.declaringFile ?? ""])
            #expect(files.count <= 2, "\(type.module).\(type.name): \(files.sorted().joined(separator: ", "))")
        }
    }

    @Test("The folders of a module form no cycle")
    func folders() throws {
        let files = try self.tree.files(below: "Sources")
        for (module, files) in Dictionary(grouping: files, by: \.target) {
            var folderOfType: [String: Set<String>] = [:]
            for file in files {
                var scanner = TypeScanner(module: module)
                scanner.read(file)
                for type in scanner.types.values where type.declaringFile != nil && !type.name.contains(".") {
                    folderOfType[type.name, default: []].insert(Self.folder(of: file))
                }
            }
            var edges: [String: [String: String]] = [:]
            for file in files where !Self.folder(of: file).isEmpty {
                let own = Self.folder(of: file)
                for identifier in identifiers(in: file) {
                    guard let folders = folderOfType[identifier], folders.count == 1, let folder = folders.first,
                        folder != own, !folder.isEmpty
                    else { continue }
                    edges[own, default: [:]][folder] =
                        "\(file.path.split(separator: "/").last ?? "") uses \(identifier)"
                }
            }
            for (from, to) in Self.cyclicEdges(edges) {
                Issue.record("\(module): \(from) -> \(to), which needs \(from) again (\(edges[from]?[to] ?? ""))")
            }
        }
    }

    @Test("The rule groups of a reducer use each other in one direction")
    func ruleGroups() throws {
        let files = try self.tree.files(below: "Sources/TidegateSession/Loop")
        let groups = files.filter { $0.text.contains(/(?m)^enum \w+(Rules|Commands) \{/) }
        let names = Set(groups.map { String($0.path.split(separator: "/").last?.dropLast(6) ?? "") })
        #expect(names == ["AttemptRules", "ClockRules", "EndRules", "GateRules", "TaskCommands"])
        var edges: [String: [String: String]] = [:]
        for file in groups {
            let own = String(file.path.split(separator: "/").last?.dropLast(6) ?? "")
            for other in identifiers(in: file).intersection(names) where other != own {
                edges[own, default: [:]][other] = file.path
            }
        }
        #expect(edges["TaskCommands"]?["EndRules"] != nil)
        for (from, to) in Self.cyclicEdges(edges) { Issue.record("\(from) -> \(to), which needs \(from) again") }
    }

    @Test("No handler of a class is set after its initialiser")
    func lateHandlers() throws {
        for file in try self.tree.files(below: "Sources") {
            for line in Self.lateHandlers(in: file) { Issue.record("\(file.path): \(line)") }
        }
    }

    /// The stored optional closures of classes, and their methods that take one to keep.
    static func lateHandlers(in file: SourceTree.File) -> [String] {
        var (found, indent) = ([String](), nil as Int?)
        for line in file.lines {
            let (text, depth) = (code(line).drop { $0 == " " }, line.prefix { $0 == " " }.count)
            if text.contains(/\bclass \w+[^"]*\{$/) { indent = depth }
            if text == "}", depth == indent { indent = nil }
            guard let indent, depth == indent + 4 else { continue }
            let isSetter = text.contains(/\bfunc (set|on)[A-Z]\w*\(.*@escaping/)
            if isSetter || text.contains(/\bvar \w+: \(.*->.*\)\?$/) { found.append(String(text)) }
        }
        return found
    }

    /// The component of a file: its first folder below the target; empty for the files beside the folders.
    private static func folder(of file: SourceTree.File) -> String {
        let parts = file.path.split(separator: "/")
        return parts.count > 3 ? String(parts[2]) : ""
    }

    /// The edges whose end leads back to their start.
    static func cyclicEdges(_ edges: [String: [String: String]]) -> [(from: String, to: String)] {
        func reachable(from start: String) -> Set<String> {
            var seen: Set<String> = []
            var open = [start]
            while let node = open.popLast() {
                for next in (edges[node] ?? [:]).keys where seen.insert(next).inserted { open.append(next) }
            }
            return seen
        }
        return edges.keys.sorted().flatMap { from in
            (edges[from] ?? [:]).keys.sorted().filter { reachable(from: $0).contains(from) }.map { (from, $0) }
        }
    }

    @Test("The measure itself sees handlers that are set late, and no other closures")
    func measureHandlers() {
        let source = """
            final class A {
                private var onEnd: (@Sendable (Int) -> Void)?
                private let body: () -> Void
                struct Handlers {
                    var end: (() -> Void)?
                }
                func setStart(_ body: @escaping () -> Void) {
                    var local: (() -> Void)?
                }
            }
            struct B {
                var end: (() -> Void)?
            }
            """
        let found = Self.lateHandlers(in: SourceTree.File(path: "A.swift", text: source))
        #expect(found.map { $0.prefix { $0 != ":" && $0 != "(" } } == ["private var onEnd", "func setStart"])
    }

    @Test("The measure itself sees extensions and cycles")
    func measure() throws {
        var scanner = TypeScanner(module: "M")
        scanner.read(
            SourceTree.File(
                path: "Sources/M/A.swift",
                text: """
                    final class A {
                        private var two = "{", three: Int { 4 }
                        struct State {
                            var x = 0
                        }
                        func f() {
                            let local = 1
                        }
                    }
                    """))
        scanner.read(
            SourceTree.File(path: "Sources/M/B.swift", text: "extension A {\n    mutating func g() {}\n}\n"))
        let type = try #require(scanner.types["A"])
        #expect(type.extensionFiles == ["Sources/M/B.swift"])
        let cyclic = Self.cyclicEdges(["a": ["b": ""], "b": ["c": ""], "c": ["b": ""]])
        #expect(cyclic.map { "\($0.from)\($0.to)" } == ["bc", "cb"])
        #expect(Self.cyclicEdges(["a": ["b": "", "c": ""], "b": ["c": ""]]).isEmpty)
    }
}

/// Every identifier of a file, comments and texts left out.
func identifiers(in file: SourceTree.File) -> Set<String> {
    var found: Set<String> = []
    for line in strippedLines(of: file.text) { found.formUnion(identifiers(inCode: line)) }
    return found
}

func identifiers(inCode line: String) -> [String] {
    line.split(whereSeparator: { !($0.isLetter || $0.isNumber || $0 == "_") }).map(String.init)
}
