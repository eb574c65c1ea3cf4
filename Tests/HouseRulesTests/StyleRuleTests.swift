import Foundation
import Testing

@Suite struct StyleRuleTests {
    private let tree = SourceTree()

    // Spelled in two halves so that this file does not accuse itself.
    private static let banned = [
        "@unchecked " + "Sendable", "nonisolated" + "(unsafe)", "fatal" + "Error(", "precondition" + "Failure(",
        "try" + "!", " as" + "! ", "Dispatch" + "Queue", "NS" + "Lock", "TO" + "DO", "FIX" + "ME",
        "static let " + "shared", "Notification" + "Center",
    ]

    @Test("Nothing is forced, unchecked or a singleton", arguments: ["Sources", "Tests"])
    func bannedText(_ folder: String) throws {
        for file in try self.tree.files(below: folder) {
            for (number, line) in file.lines.enumerated() {
                for word in Self.banned where line.contains(word) {
                    Issue.record("\(file.path):\(number + 1) says \(word)")
                }
            }
        }
    }

    @Test("No folder or file has a name that says nothing")
    func names() throws {
        let vague = ["Utils", "Utilities", "Common", "Helpers", "Extensions", "Manager", "Misc", "Shared"]
        let paths = try self.tree.files(below: "Sources").map(\.path) + self.tree.folders(below: "Sources")
        for path in paths {
            for word in vague { #expect(!path.contains(word), "\(path)") }
        }
    }

    @Test("Targets that are not for apps have no public declaration")
    func packageOnly() throws {
        let packageOnly = ["TidegateNetwork", "TidegateTransfer"]
        for file in try self.tree.files(below: "Sources") where packageOnly.contains(file.target) {
            for (number, line) in file.lines.enumerated() {
                let tokens = code(line).split(separator: " ")
                #expect(tokens.first != "public", "\(file.path):\(number + 1)")
            }
        }
    }

    @Test("Every public declaration has a doc comment")
    func documentation() throws {
        for file in try self.tree.files(below: "Sources") {
            for (number, line) in file.lines.enumerated() where line.drop(while: { $0 == " " }).hasPrefix("public ") {
                guard !line.contains("public import") else { continue }
                let above = file.lines[..<number].last { !$0.drop { $0 == " " }.hasPrefix("@") } ?? ""
                #expect(above.drop { $0 == " " }.hasPrefix("///"), "\(file.path):\(number + 1)")
            }
        }
    }

    @Test("Pointers never appear in the signatures between modules")
    func pointers() throws {
        for file in try self.tree.files(below: "Sources") {
            for (number, line) in file.lines.enumerated() {
                let text = code(line)
                let isSignature =
                    ["public ", "package "].contains { text.drop { $0 == " " }.hasPrefix($0) }
                    && text.contains("func ")
                #expect(
                    !(isSignature && (text.contains("Unsafe") || text.contains("OpaquePointer"))),
                    "\(file.path):\(number + 1)")
            }
        }
    }

    @Test("Only the daemon and the command line log, sleep, print or read the environment")
    func sideEffects() throws {
        let edge: Set = ["TidegateDaemon", "TidegateCLI"]
        let tokens = ["getenv(", "ProcessInfo", "print(", "Date()", "Task.sleep", "import Logging"]
        // The endpoint hands Hummingbird the silent logger that it insists on.
        let allowed = ["TidegateServer": "import Logging"]
        for file in try self.tree.files(below: "Sources") where !edge.contains(file.target) {
            for (number, line) in file.lines.enumerated() {
                for word in tokens where code(line).contains(word) && allowed[file.target] != word {
                    Issue.record("\(file.path):\(number + 1) says \(word)")
                }
            }
        }
    }

    @Test("A test waits for what it checks, and does not return before its checks")
    func conclusive() throws {
        for file in try self.tree.files(below: "Tests") {
            let tests = testLines(of: file)
            for (number, line) in file.lines.enumerated() {
                #expect(
                    !line.contains(/_ = (try )?await eventually/),
                    "\(file.path):\(number + 1) ignores what it waits for")
                #expect(
                    !(tests.contains(number) && line.hasSuffix("else { return }")),
                    "\(file.path):\(number + 1) passes without a check")
            }
        }
    }

    @Test("The lines of tests are found")
    func measure() {
        let text = """
            struct A {
                @Test("a")
                func one() {
                    check()
                }

                func other() {}
                @Test func two() {}
                let three = 3
            }
            """
        #expect(testLines(of: SourceTree.File(path: "Tests/A.swift", text: text)) == [1, 2, 3, 4, 7])
    }

    @Test("The top level holds what belongs there and nothing else")
    func topLevel() throws {
        let expected: Set = [
            "Package.swift", "Makefile", "README.md", "LICENSE", "CHANGELOG.md", "CONTRIBUTING.md", "Sources", "Tests",
            "dashboards", "docs", "packaging", ".ci", ".swift-format", ".editorconfig", ".gitignore",
            ".containerignore",
        ]
        let ignored: Set = [".git", ".build", "Package.resolved", ".swiftpm"]
        #expect(Set(try self.tree.topLevel()).subtracting(ignored) == expected)
    }
}
