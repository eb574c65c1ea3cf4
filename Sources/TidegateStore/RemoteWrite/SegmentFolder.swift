internal import Glibc

/// The buffer's files, each durable before it counts.
///
/// Blocks for the disk; belongs to one thread.
struct SegmentFolder: Sendable {
    /// A system call failed.
    struct Problem: Error, Sendable, CustomStringConvertible {
        let operation: String
        let code: Int32

        var description: String { "\(self.operation): \(String(cString: strerror(self.code)))" }
    }

    /// The largest file that is read.
    private static let limit = 64 << 20
    private static let partial = ".partial"

    private let path: String

    init(_ path: String) { self.path = path }

    /// Makes the directory where it is missing, and gives what an earlier process left there, oldest first.
    ///
    /// Files that were never whole are removed, and files of others left alone.
    func open() throws(Problem) -> [Segment] {
        try self.make()
        var segments: [Segment] = []
        for name in try self.names() {
            if name.hasSuffix(SegmentFolder.partial) {
                _ = unlink("\(self.path)/\(name)")
            } else if let length = self.length(of: name), let segment = Segment(fileName: name, length: length) {
                segments.append(segment)
            }
        }
        return segments.sorted { $0.sequence < $1.sequence }
    }

    /// Keeps a body: once this returns, neither kill -9 nor a power cut loses it.
    func write(_ body: [UInt8], of segment: Segment) throws(Problem) {
        let partial = "\(self.path)/\(segment.fileName)\(SegmentFolder.partial)"
        do {
            try self.fill(partial, with: Segment.content(of: body))
            try SegmentFolder.check(rename(partial, "\(self.path)/\(segment.fileName)"), "rename")
            try self.sync()
        } catch {
            // What is left of it would take room that is missing already, or be sent a second time.
            _ = unlink(partial)
            self.remove(segment)
            throw error
        }
    }

    /// The body of a segment; nil where its file is gone or damaged.
    func read(_ segment: Segment) -> [UInt8]? {
        let descriptor = Glibc.open("\(self.path)/\(segment.fileName)", O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0, (0...SegmentFolder.limit).contains(Int(status.st_size)) else {
            return nil
        }
        var content = [UInt8](repeating: 0, count: Int(status.st_size))
        var done = 0
        while done < content.count {
            let count = content.withUnsafeMutableBytes {
                Glibc.read(descriptor, $0.baseAddress?.advanced(by: done), $0.count - done)
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return nil }
            done += count
        }
        return Segment.body(in: content)
    }

    /// Forgets a segment.
    ///
    /// A power cut may bring it back: it is then sent twice, and a receiver keeps one of two equal samples.
    func remove(_ segment: Segment) { _ = unlink("\(self.path)/\(segment.fileName)") }

    // MARK: System calls

    private func make() throws(Problem) {
        var path = self.path.hasPrefix("/") ? "" : "."
        for part in self.path.split(separator: "/") {
            path += "/\(part)"
            guard mkdir(path, 0o700) == 0 || errno == EEXIST else { throw Problem(operation: "mkdir", code: errno) }
        }
    }

    private func names() throws(Problem) -> [String] {
        guard let directory = opendir(self.path) else { throw Problem(operation: "opendir", code: errno) }
        defer { closedir(directory) }
        var names: [String] = []
        while let entry = readdir(directory) {
            names.append(
                withUnsafePointer(to: &entry.pointee.d_name) { name in
                    name.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
                })
        }
        return names
    }

    private func length(of name: String) -> Int? {
        var status = stat()
        guard lstat("\(self.path)/\(name)", &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
        return Int(status.st_size)
    }

    private func fill(_ path: String, with content: [UInt8]) throws(Problem) {
        let descriptor = Glibc.open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw Problem(operation: "open", code: errno) }
        defer { close(descriptor) }
        var done = 0
        while done < content.count {
            let count = content.withUnsafeBytes {
                Glibc.write(descriptor, $0.baseAddress?.advanced(by: done), $0.count - done)
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw Problem(operation: "write", code: count < 0 ? errno : ENOSPC) }
            done += count
        }
        try SegmentFolder.check(fsync(descriptor), "fsync")
    }

    // The name is durable only with its directory.
    private func sync() throws(Problem) {
        let descriptor = Glibc.open(self.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw Problem(operation: "open", code: errno) }
        defer { close(descriptor) }
        try SegmentFolder.check(fsync(descriptor), "fsync")
    }

    private static func check(_ status: Int32, _ operation: String) throws(Problem) {
        guard status == 0 else { throw Problem(operation: operation, code: errno) }
    }
}
