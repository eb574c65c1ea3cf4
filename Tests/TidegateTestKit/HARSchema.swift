internal import Foundation

/// HAR 1.2 as a JSON Schema (`HAR/har-1.2.json`), by which Python's jsonschema checks archives.
package enum HARSchema {
    private static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appending(path: "HAR")

    // Debian's own, or the first on PATH.
    private static let python = ["/usr/bin/python3", "python3"].first { python in
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = [python, "-c", "import jsonschema"]
        process.standardError = FileHandle.nullDevice
        guard (try? process.run()) != nil else { return false }
        process.waitUntilExit()
        return process.terminationStatus == 0
    }

    /// True if python3 with jsonschema is installed.
    package static var isAvailable: Bool { self.python != nil }

    /// What the schema finds wrong with each archive; empty for a valid one.
    package static func problems(in archives: [String]) async throws -> [[String]] {
        let scratch = FileManager.default.temporaryDirectory.appending(path: "tidegate-har-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: scratch, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: scratch) }
        let files = try archives.enumerated().map { number, text in
            let file = scratch.appending(path: "\(number).har")
            try text.write(to: file, atomically: false, encoding: .utf8)
            return file.path
        }
        let program = [self.python ?? "python3", "problems.py", "har-1.2.json"]
        let output = try await Program.expect(
            [program[0]] + program.dropFirst().map { self.folder.appending(path: $0).path } + files)
        return try output.split(separator: "\n").map { try JSONDecoder().decode([String].self, from: Data($0.utf8)) }
    }

    /// What the schema finds wrong with an archive; empty for a valid one.
    package static func problems(in archive: String) async throws -> [String] {
        try await self.problems(in: [archive]).first ?? ["jsonschema printed nothing"]
    }
}
