internal import Glibc
package import TidegateCore

/// The request body while it is being sent.
struct BodyReader {
    /// How many bytes libcurl has taken.
    private(set) var position: Int64 = 0
    /// The last bytes of a stream of known length, held back until the stream confirms its end.
    private var last: [UInt8] = []
    private var descriptor: Int32 = -1
    private var hasEnded = false

    /// Opens the file of a file body.
    mutating func open(_ body: AttemptBody) throws(FileError) {
        guard case .file(let file, _) = body else { return }
        self.descriptor = try file.openForReading()
    }

    /// Moves to a byte so that the body can be sent again; false if the body cannot.
    mutating func seek(to position: Int64, in body: AttemptBody?) -> Bool {
        if case .stream? = body { return position == self.position }
        self.position = position
        return true
    }

    /// True when everything has been handed to libcurl; a stream without a length counts as unfinished until it ends.
    func isAtEnd(of body: AttemptBody?) -> Bool {
        switch body {
        case .stream(_, length: nil)?: self.hasEnded
        case let body?: self.position >= body.length
        case nil: true
        }
    }

    /// The result of a read.
    enum Step {
        case bytes(Int)
        /// No bytes are available: stop sending.
        case wait
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
        case .file(let file, let length): return self.read(into: buffer, file.path, length)
        case .stream(let source, let length): return self.read(into: buffer, source, length)
        }
    }

    private mutating func read(
        into buffer: UnsafeMutableRawBufferPointer, _ source: any ChunkSource, _ length: Int64?
    ) -> Step {
        let wanted = length.map { Int(min(Int64(buffer.count), $0 - self.position)) } ?? buffer.count
        guard wanted > 0 else { return .bytes(0) }
        if let length, !self.last.isEmpty { return self.finish(into: buffer, source, length) }
        switch source.read(upTo: wanted) {
        case .bytes(let bytes):
            if let length, self.position + Int64(bytes.count) >= length {
                self.last = bytes
                return self.finish(into: buffer, source, length)
            }
            return self.give(bytes, into: buffer)
        case .wait: return .wait
        case .end:
            guard let length else {
                self.hasEnded = true
                return .bytes(0)
            }
            return .failed(.bodyChanged, "the body's stream ended after \(self.position) of \(length) bytes")
        case .failed(let text): return .failed(.bodyChanged, text)
        }
    }

    // The server may act on a request once its body is complete, so a stream that is too long must fail before that.
    private mutating func finish(
        into buffer: UnsafeMutableRawBufferPointer, _ source: any ChunkSource, _ length: Int64
    ) -> Step {
        switch source.read(upTo: 1) {
        case .end:
            defer { self.last = [] }
            return self.give(self.last, into: buffer)
        case .wait: return .wait
        case .bytes: return .failed(.bodyChanged, "the body's stream is longer than its \(length) bytes")
        case .failed(let text): return .failed(.bodyChanged, text)
        }
    }

    private mutating func give(_ bytes: [UInt8], into buffer: UnsafeMutableRawBufferPointer) -> Step {
        buffer.copyBytes(from: bytes)
        self.position += Int64(bytes.count)
        return .bytes(bytes.count)
    }

    mutating func clear() {
        if self.descriptor >= 0 { close(self.descriptor) }
        self = BodyReader()
    }

    private mutating func read(into buffer: UnsafeMutableRawBufferPointer, _ path: String, _ length: Int64) -> Step {
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

/// A regular file that is part of a body, read from start to end.
package final class BodyFile {
    private let file: FileLocation
    private let identity: FileIdentity
    private let descriptor: Int32
    private var position: Int64 = 0

    /// Opens a file; fails if it is no longer the file that `identity` describes.
    package init(_ file: FileLocation, _ identity: FileIdentity) throws(FileError) {
        self.file = file
        self.identity = identity
        self.descriptor = try file.openForReading()
        try self.check()
    }

    deinit { close(self.descriptor) }

    /// Returns the next bytes, at most `count`; empty at the end.
    package func read(upTo count: Int) throws(FileError) -> [UInt8] {
        let wanted = Int(min(Int64(count), self.identity.size - self.position))
        guard wanted > 0 else {
            try self.check()
            return []
        }
        let bytes = try FileError.reading(wanted, of: self.file.path, "read") { rest, _ in
            Glibc.read(self.descriptor, rest.baseAddress, rest.count)
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
