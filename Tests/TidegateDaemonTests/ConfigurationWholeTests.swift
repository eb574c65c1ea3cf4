import Foundation
import Testing
import TidegateProbes
import TidegateSession

@testable import TidegateDaemon

/// Values that are valid each, and contradict each other.
@Suite struct ConfigurationWholeTests {
    /// Reads a file as the start and every reload do.
    private func load(_ text: String) throws -> Configuration {
        let path = NSTemporaryDirectory() + "tidegate-whole-\(UUID().uuidString).yml"
        try text.write(toFile: path, atomically: true, encoding: .utf8)
        defer { try? FileManager.default.removeItem(atPath: path) }
        do {
            return try Configuration.load(file: path)
        } catch {
            throw Failure(description: error.description.replacingOccurrences(of: path, with: "FILE"))
        }
    }

    private struct Failure: Error, CustomStringConvertible { let description: String }

    /// Reads a directory of files; their folder is `DIR` in errors.
    private func load(_ files: [String: String]) throws -> Configuration {
        let path = NSTemporaryDirectory() + "tidegate-whole-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: path) }
        for (name, text) in files { try text.write(toFile: "\(path)/\(name)", atomically: true, encoding: .utf8) }
        do {
            return try Configuration.load(file: path)
        } catch {
            throw Failure(description: error.description.replacingOccurrences(of: path, with: "DIR"))
        }
    }

    @Test("The .yml files of a directory are one configuration: sections are merged and lists appended")
    func directory() throws {
        let configuration = try self.load([
            "20-b.yml": "reachability: {targets: [{name: b, host: b.example}]}\nmodules: {m: {prober: tcp}}\n",
            "10-a.yml": "reachability: {targets: [{name: a, host: a.example}]}\ntransfers: {max_connections: 3}\n",
            "30-empty.yml": "# nothing\n", "notes.txt": "not: [a configuration", ".hidden.yml": "nor: this",
        ])
        #expect(configuration.targets.map(\.name) == ["a", "b"])
        #expect(configuration.transfers.session.maxConnections == 3)
        #expect(configuration.probes.modules["m"] != nil)
    }

    @Test("A value or a name that two files of a directory have is an error that names both places")
    func conflicts() {
        func problem(_ first: String, _ second: String) -> String? {
            #expect(throws: Failure.self) { try self.load(["a.yml": first, "b.yml": second]) }?.description
        }
        #expect(
            problem("transfers:\n  max_connections: 3\n", "transfers: {max_connections: 3}")
                == "DIR/b.yml:1: transfers.max_connections: is set in DIR/a.yml:2 as well")
        #expect(problem("tasks: []", "tasks: {}") == "DIR/b.yml:1: tasks: is set in DIR/a.yml:1 as well")
        #expect(
            problem(
                "reachability: {targets: [{name: a, host: a.example}]}",
                "reachability:\n  targets:\n    - {name: a, host: b.example}\n")
                == "DIR/b.yml:3: reachability.targets[0]: duplicate name \"a\"")
        #expect(problem("task: []", "tsks: []")?.contains("DIR/b.yml:1: tsks: unknown key") == true)
        let none = #expect(throws: Failure.self) { try self.load([:] as [String: String]) }
        #expect(none?.description == "DIR: has no file that ends in .yml")
    }

    @Test("A longest delay below the shortest one is an error of the file, naming the key")
    func contradiction() throws {
        let error = #expect(throws: Failure.self) { try self.load("transfers: {retry: {base: 10m, cap: 1s}}") }
        #expect(error?.description == "FILE: retry.cap: the longest delay must not be shorter than retry.base")
    }

    @Test("A longest delay that is not below the shortest one is taken")
    func agreement() throws {
        let retry = try self.load("transfers: {retry: {base: 1s, cap: 10m}}").transfers.retry
        #expect(retry != Configuration().transfers.retry)
    }
}
