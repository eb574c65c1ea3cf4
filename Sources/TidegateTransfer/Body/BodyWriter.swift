internal import Glibc
internal import TidegateCore

/// Writes a response body to its sink and counts the bytes.
struct BodyWriter {
    /// Body bytes written, decoded.
    private(set) var received: Int64 = 0
    /// The file offset of the next byte.
    private var position: Int64 = 0
    private(set) var body: [UInt8] = []
    private(set) var diagnostic: [UInt8] = []
    /// Bytes at the start of the next chunk that were written before a pause: libcurl delivers a paused chunk again.
    private var writtenBeforePause = 0
    private var drained: Int64 = 0

    /// The number of bytes written before the chunk that libcurl is delivering.
    var chunkStart: Int64 { self.received - Int64(self.writtenBeforePause) }

    static let diagnosticLimit = 64 * 1024
    /// How many bytes of an unwanted body are read to keep its connection.
    static let drainLimit: Int64 = 1024 * 1024

    /// The result of writing a chunk.
    enum Step {
        case written
        /// The sink is full: stop reading, and deliver the same bytes again.
        case blocked
        /// The turn's share is used up: stop reading, and deliver the same bytes again in the next turn.
        case postponed
        case failed(TaskFailure, String)
    }

    mutating func write(
        _ bytes: UnsafeRawBufferPointer, to sink: BodySink, _ range: RangeOutcome, observer: (any ChunkSink)?
    ) -> Step {
        switch range {
        case .append, .restartFromZero: break
        case .alreadyComplete: return self.drain(bytes, .httpStatus)
        case .reject(let failure): return self.collect(bytes, failure)
        }
        // The same bytes come again once the observer has room.
        if observer?.hasRoom() == false { return .blocked }
        switch sink {
        case .memory(let limit):
            guard self.body.count + bytes.count <= limit else {
                return .failed(.tooLarge, "the body is larger than the \(limit) bytes allowed")
            }
            self.body.append(contentsOf: bytes)
        case .file(let file): return self.write(bytes, to: file)
        case .descriptor(let descriptor): return self.write(bytes, toPipe: descriptor, observer)
        case .chunks(let chunks):
            guard !bytes.isEmpty else { return .written }
            guard chunks.hasRoom() else { return .blocked }
            // The stream's reader may continue on another thread, so this comes first.
            let chunk = Array(bytes)
            observer?.write(chunk)
            chunks.write(chunk)
            self.received += Int64(bytes.count)
            return .written
        case .discard: break
        }
        observer?.write(Array(bytes))
        self.received += Int64(bytes.count)
        return .written
    }

    /// Prepares the sink when the head is known, before the first byte and even if no body follows; nil is success.
    ///
    /// A decoded body has another length than the received one.
    mutating func start(_ head: ResponseHeadParser, of request: Indirect<AttemptRequest>, isDecoded: Bool) -> Step? {
        let length = isDecoded || request.value.method == "HEAD" ? nil : head.value?.contentLength
        switch request.value.sink {
        case .memory(let limit):
            if let length {
                guard length <= Int64(limit) else {
                    return .failed(.tooLarge, "the body of \(length) bytes is larger than the \(limit) allowed")
                }
                self.body.reserveCapacity(min(Int(length), 1024 * 1024))
            }
        case .file(let file):
            self.position = head.range == .append ? request.value.resume?.offset ?? 0 : 0
            // A file in place keeps its bytes until now; a new one is empty.
            let isFirst = head.range == .append && self.position == 0 && file.paths.way == .inPlace
            if head.range == .restartFromZero || isFirst {
                do throws(FileError) { try file.truncate(to: 0) } catch {
                    return .failed(error.failure, error.description)
                }
            }
            // A full disk is detected before the first byte rather than after hours.
            if let message = length.flatMap({ file.missingRoom(for: $0) }) { return .failed(.diskFull, message) }
        case .descriptor, .chunks:
            // Bytes written to a pipe cannot be taken back.
            guard head.range == .restartFromZero, let resume = request.value.resume, resume.offset > 0 else { break }
            return .failed(
                .rangeMismatch, "the body changed on the server after \(resume.offset) bytes had been delivered")
        case .discard: break
        }
        return nil
    }

    mutating func clear() { self = BodyWriter() }

    private mutating func write(_ bytes: UnsafeRawBufferPointer, to file: DownloadFile) -> Step {
        do throws(FileError) { try file.write(bytes, at: self.position) } catch {
            return .failed(error.failure, error.description)
        }
        self.position += Int64(bytes.count)
        self.received += Int64(bytes.count)
        return .written
    }

    // A pipe that poll(2) reports as writable accepts PIPE_BUF bytes without blocking, but not necessarily more.
    private mutating func write(
        _ bytes: UnsafeRawBufferPointer, toPipe descriptor: Int32, _ observer: (any ChunkSink)?
    ) -> Step {
        var done = self.writtenBeforePause
        while done < bytes.count {
            var wanted = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
            guard poll(&wanted, 1, 0) != 0 else {
                self.writtenBeforePause = done
                return .blocked
            }
            let count = Glibc.write(descriptor, bytes.baseAddress?.advanced(by: done), min(bytes.count - done, 4096))
            if count < 0 {
                guard errno == EINTR || errno == EAGAIN else {
                    let code = errno
                    let path = FileLocation("/proc/self/fd/\(descriptor)").linkTarget ?? []
                    let name = descriptor == STDOUT_FILENO ? "standard output" : String(decoding: path, as: UTF8.self)
                    let error = FileError(operation: "write", path: name, code: code)
                    return .failed(error.failure, error.description)
                }
            } else {
                observer?.write(Array(bytes[done..<done + count]))
                done += count
                self.received += Int64(count)
            }
        }
        self.writtenBeforePause = 0
        return .written
    }

    private mutating func collect(_ bytes: UnsafeRawBufferPointer, _ failure: TaskFailure) -> Step {
        let room = BodyWriter.diagnosticLimit - self.diagnostic.count
        if room > 0 { self.diagnostic.append(contentsOf: bytes.prefix(room)) }
        // An unusable range may have gigabytes; an error page is small, and its connection is worth keeping.
        return failure == .httpStatus ? self.drain(bytes, failure) : .failed(failure, "")
    }

    private mutating func drain(_ bytes: UnsafeRawBufferPointer, _ failure: TaskFailure) -> Step {
        self.drained += Int64(bytes.count)
        return self.drained > BodyWriter.drainLimit ? .failed(failure, "") : .written
    }
}
