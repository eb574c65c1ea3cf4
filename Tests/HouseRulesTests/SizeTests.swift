import Testing

@Suite struct SizeTests {
    private let tree = SourceTree()

    // It goes down with every step, and up only where new behaviour needs it.
    @Test("The sources have at most 70,170 code lines: no blank ones, no comments")
    func codeLines() throws {
        let lines = try self.tree.files(below: "Sources").flatMap(\.lines).count { line in
            let text = line.drop { $0 == " " }
            return !text.isEmpty && !text.hasPrefix("//")
        }
        #expect(lines <= 70_170)
    }

    @Test("A function has 50 lines at most")
    func functions() throws {
        for file in try self.tree.files(below: "Sources") {
            for function in Function.all(in: file.lines) {
                #expect(function.length <= 50, "\(file.path):\(function.line) has \(function.length) lines")
            }
        }
    }

    @Test("A function takes five parameters at most; the initialiser of a value may take more")
    func parameters() throws {
        for file in try self.tree.files(below: "Sources") {
            for function in Function.all(in: file.lines) where !function.isInitialiser {
                #expect(function.parameters <= 5, "\(file.path):\(function.line)")
            }
        }
    }

    @Test("The measure itself sees lengths and parameters")
    func measure() {
        let source = """
            struct A {
                func one(a: [Pair<Int, Int>], b: (Int, Int) -> Void) -> Int {
                    let text = "}"  // }
                    return a
                }

                func requirement()
                init(
                    a: Int,
                    b: Int
                ) { }
            }
            """
        let functions = Function.all(in: source.split(separator: "\n", omittingEmptySubsequences: false))
        #expect(functions.map(\.length) == [4, 4])
        #expect(functions.map(\.parameters) == [2, 2])
        #expect(functions.map(\.isInitialiser) == [false, true])
    }
}

/// A function as far as its size goes.
struct Function {
    let line: Int
    let length: Int
    let parameters: Int
    let isInitialiser: Bool

    static func all(in lines: [Substring]) -> [Function] {
        let stripped = lines.map(code)
        return stripped.indices.compactMap { self.read(stripped, at: $0) }
    }

    private static let modifiers: Set<Substring> = [
        "public", "package", "internal", "private", "fileprivate", "static", "class", "final", "override", "mutating",
        "nonmutating", "consuming", "borrowing", "nonisolated", "convenience", "required", "@inlinable",
        "@discardableResult", "@Sendable",
    ]

    private static func read(_ lines: [String], at start: Int) -> Function? {
        let tokens = lines[start].split(whereSeparator: { " (<?".contains($0) })
        guard let keyword = tokens.first(where: { !self.modifiers.contains($0) }),
            ["func", "init", "subscript", "deinit"].contains(keyword)
        else { return nil }
        var (round, curly, commas, hasParameter) = (0, 0, 0, false)
        var (isBody, isSignatureOver, angle, previous) = (false, false, 0, Character(" "))
        for line in start..<lines.count {
            for character in lines[line] {
                switch character {
                case "(", "[": round += 1
                case ")", "]":
                    round -= 1
                    if round == 0 { isSignatureOver = true }
                case "{":
                    curly += 1
                    isBody = isBody || round == 0
                case "}": curly -= 1
                case "<" where previous.isLetter: angle += 1
                case ">" where angle > 0 && previous != "-": angle -= 1
                case "," where round == 1 && curly == 0 && angle == 0 && !isSignatureOver: commas += 1
                case ":" where round == 1 && curly == 0 && !isSignatureOver: hasParameter = true
                default: break
                }
                if curly < 0 { return nil }
                previous = character
            }
            if isBody, curly == 0 {
                return Function(
                    line: start + 1, length: line - start + 1, parameters: hasParameter ? commas + 1 : 0,
                    isInitialiser: keyword == "init")
            }
            if !isBody, round == 0, curly == 0, self.isRequirement(lines, after: line) { return nil }
        }
        return nil
    }

    // A signature may go on in the next line with `->`, `throws`, `where` or its brace.
    private static func isRequirement(_ lines: [String], after line: Int) -> Bool {
        guard line + 1 < lines.count else { return true }
        let next = lines[line + 1].drop { $0 == " " }
        return !["->", "{", "where", "throws", "async", ")"].contains { next.hasPrefix($0) }
    }
}
