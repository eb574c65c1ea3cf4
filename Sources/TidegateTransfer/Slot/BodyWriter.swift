internal import Glibc
internal import TidegateCore

/// Where a body goes, and how much of it went there.
struct BodyWriter {
    /// Body bytes taken, decoded.
    private(set) var received: Int64 = 0
    /// Where the next byte goes in a file.
    private var position: Int64 = 0
    private(set) var body: [UInt8] = []
    private(set) var diagnostic: [UInt8] = []
    /// Bytes at the start of the next chunk that were taken before a pause: libcurl delivers a paused chunk again.
    private var taken = 0
    private var drained: Int64 = 0

    static let diagnosticLimit = 64 * 1024
    /// How much of a body that nobody wants is read to keep its connection.
    static let drainLimit: Int64 = 1024 * 1024

    /// What became of a chunk.
    enum Step {
        case taken
        /// The sink is full: stop reading, and deliver the same bytes again.
        case blocked
        case failed(TaskFailure, String)
    }

    mutating func write(
        _ bytes: UnsafeRawBufferPointer, to sink: BodySink, _ range: RangeAnswer, listener: (any ChunkSink)?
    ) -> Step {
        switch range {
        case .append, .restartFromZero: break
        case .alreadyComplete: return self.drain(bytes, .httpStatus)
        case .reject(let failure): return self.collect(bytes, failure)
        }
        switch sink {
        case .memory(let limit): return self.remember(bytes, limit, listener)
        case .file(let file): return self.write(bytes, to: file)
        case .descriptor(let descriptor): return self.write(bytes, toPipe: descriptor, listener)
        case .chunks(let chunks): return self.hand(bytes, to: chunks, listener)
        case .discard:
            listener?.write(Array(bytes))
            self.received += Int64(bytes.count)
            return .taken
        }
    }

    /// Prepares the sink once the head is known, before the first byte and where none will come; nil is good.
    mutating func start(_ head: ResponseHeadParser, of request: AttemptRequest) -> Step? {
        switch request.sink {
        case .memory(let limit):
            if let length = head.contentLength, request.method != "HEAD" {
                guard length <= Int64(limit) else {
                    return .failed(.tooLarge, "the body of \(length) bytes is larger than the \(limit) allowed")
                }
                self.body.reserveCapacity(min(Int(length), 1024 * 1024))
            }
        case .file(let file):
            self.position = head.range == .append ? request.resume?.offset ?? 0 : 0
            guard head.range == .restartFromZero else { break }
            do throws(FileError) { try file.truncate(to: 0) } catch {
                return .failed(error.failure, error.description)
            }
        case .descriptor, .chunks:
            // What has gone into a pipe cannot be thrown away.
            guard head.range == .restartFromZero, let resume = request.resume, resume.offset > 0 else { break }
            return .failed(
                .rangeMismatch, "the body changed on the server after \(resume.offset) bytes had been delivered")
        case .discard: break
        }
        return nil
    }

    mutating func takeBody() -> [UInt8] {
        defer { self.body = [] }
        return self.body
    }

    mutating func clear() { self = BodyWriter() }

    private mutating func remember(
        _ bytes: UnsafeRawBufferPointer, _ limit: Int, _ listener: (any ChunkSink)?
    ) -> Step {
        guard self.body.count + bytes.count <= limit else {
            return .failed(.tooLarge, "the body is larger than the \(limit) bytes allowed")
        }
        listener?.write(Array(bytes))
        self.body.append(contentsOf: bytes)
        self.received += Int64(bytes.count)
        return .taken
    }

    private mutating func write(_ bytes: UnsafeRawBufferPointer, to file: DownloadFile) -> Step {
        do throws(FileError) { try file.write(bytes, at: self.position) } catch {
            return .failed(error.failure, error.description)
        }
        self.position += Int64(bytes.count)
        self.received += Int64(bytes.count)
        return .taken
    }

    // A pipe that poll(2) calls writable takes PIPE_BUF bytes without blocking, and no more for sure.
    private mutating func write(
        _ bytes: UnsafeRawBufferPointer, toPipe descriptor: Int32, _ listener: (any ChunkSink)?
    ) -> Step {
        var done = self.taken
        while done < bytes.count {
            var wanted = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
            guard poll(&wanted, 1, 0) != 0 else {
                self.taken = done
                return .blocked
            }
            let count = Glibc.write(descriptor, bytes.baseAddress?.advanced(by: done), min(bytes.count - done, 4096))
            if count < 0 {
                guard errno == EINTR || errno == EAGAIN else {
                    let error = FileError(operation: "write", path: "descriptor \(descriptor)", code: errno)
                    return .failed(error.failure, error.description)
                }
            } else {
                listener?.write(Array(bytes[done..<done + count]))
                done += count
                self.received += Int64(count)
            }
        }
        self.taken = 0
        return .taken
    }

    private mutating func hand(
        _ bytes: UnsafeRawBufferPointer, to sink: any ChunkSink, _ listener: (any ChunkSink)?
    ) -> Step {
        guard !bytes.isEmpty else { return .taken }
        guard sink.hasRoom() else { return .blocked }
        let chunk = Array(bytes)
        listener?.write(chunk)
        sink.write(chunk)
        self.received += Int64(bytes.count)
        return .taken
    }

    private mutating func collect(_ bytes: UnsafeRawBufferPointer, _ failure: TaskFailure) -> Step {
        let room = BodyWriter.diagnosticLimit - self.diagnostic.count
        if room > 0 { self.diagnostic.append(contentsOf: bytes.prefix(room)) }
        // A range that does not fit may be gigabytes; an error page is small and its connection worth keeping.
        return failure == .httpStatus ? self.drain(bytes, failure) : .failed(failure, "")
    }

    private mutating func drain(_ bytes: UnsafeRawBufferPointer, _ failure: TaskFailure) -> Step {
        self.drained += Int64(bytes.count)
        return self.drained > BodyWriter.drainLimit ? .failed(failure, "") : .taken
    }
}
