internal import Glibc
internal import TidegateModel

/// The request body while it is sent.
struct UploadRecord {
    private var position: Int64 = 0
    private var descriptor: Int32 = -1

    /// Opens the file of a file body.
    mutating func open(_ body: AttemptBody) throws(FileError) {
        guard case .file(let path, _) = body else { return }
        self.descriptor = Glibc.open(path, O_RDONLY | O_CLOEXEC)
        guard self.descriptor >= 0 else { throw FileError(operation: "open", path: path, code: errno) }
    }

    /// Goes to a byte, for a repetition.
    mutating func seek(to position: Int64) { self.position = position }

    /// What a read gave.
    enum Step {
        case bytes(Int)
        case failed(TaskFailure, String)
    }

    mutating func read(into buffer: UnsafeMutableRawBufferPointer, from body: AttemptBody) -> Step {
        switch body {
        case .none: return .bytes(0)
        case .bytes(let bytes):
            let count = min(buffer.count, bytes.count - Int(self.position))
            guard count > 0 else { return .bytes(0) }
            bytes.withUnsafeBytes { source in
                buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: source[Int(self.position)...].prefix(count)))
            }
            self.position += Int64(count)
            return .bytes(count)
        case .file(let path, let length): return self.read(into: buffer, path, length)
        }
    }

    mutating func clear() {
        if self.descriptor >= 0 { close(self.descriptor) }
        self = UploadRecord()
    }

    private mutating func read(
        into buffer: UnsafeMutableRawBufferPointer, _ path: String, _ length: Int64
    ) -> Step {
        let wanted = Int(min(Int64(buffer.count), length - self.position))
        guard wanted > 0 else { return .bytes(0) }
        let count = pread(self.descriptor, buffer.baseAddress, wanted, off_t(self.position))
        guard count >= 0 else {
            let error = FileError(operation: "pread", path: path, code: errno)
            return .failed(error.failure, error.description)
        }
        guard count > 0 else { return .failed(.bodyChanged, "\(path): shorter than the \(length) bytes to send") }
        self.position += Int64(count)
        return .bytes(count)
    }
}
