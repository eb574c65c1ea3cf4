import Foundation

/// A directory for one test; deleted when it goes out of scope.
final class TemporaryDirectory: Sendable {
    private let url: URL

    init() throws {
        self.url = FileManager.default.temporaryDirectory.appendingPathComponent("tidegate-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: self.url, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(at: self.url) }

    func path(_ name: String) -> String { self.url.appendingPathComponent(name).path }

    /// Replaces a file atomically.
    func write(_ text: String, to name: String) throws {
        try Data(text.utf8).write(to: self.url.appendingPathComponent(name), options: .atomic)
    }

    /// Writes into the existing file.
    func overwrite(_ text: String, in name: String) throws {
        try Data(text.utf8).write(to: self.url.appendingPathComponent(name))
    }

    func makeDirectory(_ name: String) throws {
        try FileManager.default.createDirectory(
            at: self.url.appendingPathComponent(name), withIntermediateDirectories: true)
    }

    func remove(_ name: String) throws {
        try FileManager.default.removeItem(at: self.url.appendingPathComponent(name))
    }

    func link(_ name: String, to target: String) throws {
        try FileManager.default.createSymbolicLink(
            atPath: self.path(name), withDestinationPath: target)
    }

    func hardLink(_ name: String, to target: String) throws {
        try FileManager.default.linkItem(atPath: self.path(target), toPath: self.path(name))
    }
}
