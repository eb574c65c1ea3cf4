import Foundation
import Testing
import TidegateTestKit
@testable import TidegateCore

/// What parsing takes, the value included: at most twice the text and 64 bytes for each value and name.
@Suite(.timeLimit(.minutes(5)))
struct JSONMemoryTests {
    /// Texts that take much for their length.
    enum Document: String, CaseIterable, Codable, Sendable {
        case numbers, emptyArrays, arraysOfOne, arraysOfTwo, nested, shortNames, smallObjects, strings, shortStrings
        case longString, escapes, lateEscape

        /// The text, and how many nodes it has.
        var text: (bytes: [UInt8], nodes: Int) {
            let most = 250_000
            switch self {
            case .numbers: return Self.list("1", most - 1, nodes: 1)
            case .emptyArrays: return Self.list("[]", most - 1, nodes: 1)
            case .arraysOfOne: return Self.list("[1]", most / 2 - 1, nodes: 2)
            case .arraysOfTwo: return Self.list("[1,1]", most / 3 - 1, nodes: 3)
            case .nested:
                let unit = String(repeating: "[", count: 500) + String(repeating: "]", count: 500)
                return Self.list(unit, most / 500 - 1, nodes: 500)
            case .shortNames: return Self.list(#""a":1"#, most / 2 - 1, nodes: 2, "{", "}")
            case .smallObjects: return Self.list(#"{"a":1}"#, most / 3 - 1, nodes: 3)
            case .strings:
                let long = "\"" + String(repeating: "x", count: 200) + "\""
                return Self.list("\(long):\(long)", 40_000, nodes: 2, "{", "}")
            // Those of 16 bytes are the shortest that have memory of their own.
            case .shortStrings:
                return Self.list(#""0123456789abcdef":"0123456789abcdef""#, most / 2 - 1, nodes: 2, "{", "}")
            case .longString: return (Self.string([UInt8](repeating: 0x61, count: 16_000_000)), 1)
            case .escapes: return (Self.string([UInt8](repeating: 0x5C, count: 4_000_000)), 1)
            case .lateEscape: return (Self.string([UInt8](repeating: 0x61, count: 16_000_000) + [0x5C, 0x6E]), 1)
            }
        }

        private static func list(
            _ unit: String, _ count: Int, nodes: Int, _ open: String = "[", _ close: String = "]"
        ) -> (bytes: [UInt8], nodes: Int) {
            let units = Array((unit + ",").utf8)
            var bytes = Array(open.utf8)
            bytes.reserveCapacity(units.count * count + 2)
            for _ in 0..<count { bytes += units }
            bytes.removeLast()
            return (bytes + close.utf8, 1 + count * nodes)
        }

        private static func string(_ bytes: [UInt8]) -> [UInt8] { [0x22] + bytes + [0x22] }
    }

    // The kernel counts pages, the C library's heap grows by 128 KiB, and a string of 16 bytes takes 80 where 78 are allowed:
    // half a megabyte for 250,000 of them. Code that is first run here counts as well, with the pages around it.
    private static let slack = 3 << 19

    /// A line of proc_pid_status(5), in bytes.
    private static func memory(_ key: String) throws -> Int {
        let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
        let line = try #require(status.split(separator: "\n").first { $0.hasPrefix(key) })
        return try #require(Int(line.filter(\.isNumber))) * 1024
    }

    @Test(
        "A document of any shape takes at most twice its text and 64 bytes a node",
        .enabled(if: Sanitizer.isAbsent, "a sanitizer's memory counts"), arguments: Document.allCases)
    func peak(_ document: Document) async {
        // In a process of its own, whose memory nothing else uses.
        await #expect(processExitsWith: .success) { [document = document as Document] in
            let (bytes, nodes) = document.text
            // What the first text touches, whatever its length: the parser's own pages and the deepest stack.
            let deepest = String(repeating: "[", count: 500) + #""\n""# + String(repeating: "]", count: 500)
            _ = try JSONValue(parsing: deepest.utf8)
            // The peak begins anew.
            try "5".write(toFile: "/proc/self/clear_refs", atomically: false, encoding: .utf8)
            let before = try Self.memory("VmRSS")
            let value = try JSONValue(parsing: bytes, mostNodes: nodes)
            let peak = try Self.memory("VmHWM") - before
            let limit = 2 * bytes.count + 64 * nodes + Self.slack
            #expect(peak <= limit, "\(peak) of \(limit) bytes")
            withExtendedLifetime(value) {}
        }
    }

    @Test("Values and names of members count; one more than allowed is an error where it begins")
    func nodes() throws {
        let list = "[" + [String](repeating: "1", count: 249_999).joined(separator: ",")
        guard case .array(let values) = try JSONValue(parsing: (list + "]").utf8, mostNodes: 250_000) else {
            Issue.record("no array")
            return
        }
        #expect(values.count == 249_999)
        let error = #expect(throws: JSONError.self) {
            try JSONValue(parsing: (list + ",1]").utf8, mostNodes: 250_000)
        }
        #expect(error == JSONError(kind: .tooManyNodes(limit: 250_000), offset: list.utf8.count + 1))
        #expect(error?.description == "too large: more than 250000 values and names of members at byte 499999")
        let object = #"{"a": [], "b": {}}"#.utf8
        #expect(try JSONValue(parsing: object, mostNodes: 5) == ["a": [], "b": [:]])
        #expect(throws: JSONError(kind: .tooManyNodes(limit: 4), offset: 15)) {
            try JSONValue(parsing: object, mostNodes: 4)
        }
        #expect(throws: JSONError(kind: .tooManyNodes(limit: 3), offset: 10)) {
            try JSONValue(parsing: object, mostNodes: 3)
        }
    }

    @Test("Strings keep what stands before, between and after escapes, also commas and brackets")
    func escapes() throws {
        let text = #"["a,[\"b\\\n,{c", "\u00e9", "x\\", "é\/é", ["\"]"], 7]"#
        let expected: JSONValue = ["a,[\"b\\\n,{c", "é", "x\\", "é/é", ["\"]"], 7]
        #expect(try JSONValue(parsing: text.utf8) == expected)
    }
}
