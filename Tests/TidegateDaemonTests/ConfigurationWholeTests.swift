import Foundation
import Testing

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
