internal import Glibc
package import TidegateCore

/// A regular file that is a part of a body, read from its start to its end.
package final class BodyFile {
    private let file: FileLocation
    private let identity: FileIdentity
    private let descriptor: Int32
    private var position: Int64 = 0

    /// Opens a file that is still the one looked at before.
    package init(_ file: FileLocation, _ identity: FileIdentity) throws(FileError) {
        self.file = file
        self.identity = identity
        self.descriptor = try file.openForReading()
        try self.check()
    }

    deinit { close(self.descriptor) }

    /// The next bytes, `count` at most; empty at the end.
    package func read(upTo count: Int) throws(FileError) -> [UInt8] {
        let wanted = Int(min(Int64(count), self.identity.size - self.position))
        guard wanted > 0 else {
            try self.check()
            return []
        }
        let bytes = try FileError.reading(wanted, of: self.file.path, "read") {
            Glibc.read(self.descriptor, $0, wanted)
        }
        guard !bytes.isEmpty else { throw self.changed }
        self.position += Int64(bytes.count)
        return bytes
    }

    private var changed: FileError {
        FileError(operation: "changed while it was being sent", path: self.file.path, code: 0)
    }

    private func check() throws(FileError) {
        guard try FileIdentity.of(self.file) == self.identity else { throw self.changed }
    }
}
