internal import Glibc

/// A folder of a test's own, removed with everything in it.
final class Folder {
    private let root: String

    init() throws {
        var template = Array("/tmp/tidegate-transfer-XXXXXX".utf8CString)
        let made = template.withUnsafeMutableBufferPointer { buffer -> String? in
            buffer.baseAddress.flatMap { mkdtemp($0) }.map { String(cString: $0) }
        }
        guard let made else { throw NothingCame(description: "no folder: error \(errno)") }
        self.root = made
    }

    deinit {
        for name in self.names where unlink(self.path(name)) != 0 { rmdir(self.path(name)) }
        rmdir(self.root)
    }

    func path(_ name: String) -> String { "\(self.root)/\(name)" }

    /// The names in the folder, in order.
    var names: [String] {
        guard let folder = opendir(self.root) else { return [] }
        defer { closedir(folder) }
        var names: [String] = []
        while let entry = readdir(folder) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names.sorted()
    }

    func bytes(_ name: String) -> [UInt8]? {
        let descriptor = open(self.path(name), O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var all: [UInt8] = []
        var part = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = read(descriptor, &part, part.count)
            guard count > 0 else { return all }
            all += part.prefix(count)
        }
    }

    func write(_ name: String, _ bytes: [UInt8]) {
        let descriptor = open(self.path(name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
        _ = Glibc.write(descriptor, bytes, bytes.count)
        close(descriptor)
    }
}
