internal import ArgumentParser
internal import Glibc
internal import Synchronization
internal import Tidegate
internal import TidegateDaemon

/// Reads pipes named on the command line, such as `<(command)` in a shell, once into memory.
enum PipedFile {
    private static let maximum = 1 << 20
    /// The copies by pipe name; they stay open until the process ends.
    private static let copies = Mutex<[String: String]>([:])

    /// A file with the contents of `path` that can be read repeatedly: the file itself, or the copy of a pipe.
    ///
    /// - Throws: ``TextError`` without the file's name, for a pipe with more than 1 MiB or one that does not end within
    /// 10 s.
    static func readable(_ path: String) throws(TextError) -> String {
        if let copy = self.copies.withLock({ $0[path] }) { return copy }
        var status = stat()
        guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFIFO else { return path }
        let copy = try self.copy(try self.contents(of: path, within: .seconds(10)))
        self.copies.withLock { $0[path] = copy }
        return copy
    }

    /// The text of a file or a pipe.
    ///
    /// - Throws: ``TextError`` that begins with the file's name.
    static func text(of path: String, atMost limit: Int) throws(TextError) -> String {
        try Result { try TextFile.read(try self.readable(path), atMost: limit) }
            .mapError { TextError("\(path) \($0)") }.get()
    }

    /// The result of an earlier ``readable(_:)``.
    static func known(_ path: String) -> String { self.copies.withLock { $0[path] } ?? path }

    /// A copy in memory of a text, under a name of its own; nil if the text is empty, or cannot be copied.
    static func copy(_ text: String, named name: String) -> String? {
        if let copy = self.copies.withLock({ $0[name] }) { return copy }
        guard !text.isEmpty, let copy = try? self.copy(Array(text.utf8)) else { return nil }
        self.copies.withLock { $0[name] = copy }
        return copy
    }

    /// The contents of a pipe until its end.
    static func contents(of path: String, within limit: Duration) throws(TextError) -> [UInt8] {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw TextError("cannot be read: \(SystemError.message(errno))") }
        defer { close(descriptor) }
        let end = SystemClock().monotonic() + limit
        var pipe = PipeReader(descriptor: descriptor)
        var bytes: [UInt8] = []
        while true {
            switch pipe.read() {
            case .bytes(let chunk): bytes += chunk
            case .end: return bytes
            case .failed(let code): throw TextError("cannot be read: \(SystemError.message(code))")
            case .nothingYet: pipe.wait(.milliseconds(50))
            }
            guard bytes.count <= self.maximum else {
                throw TextError("is a pipe with more than \(ByteText(Int64(self.maximum)))")
            }
            guard SystemClock().monotonic() < end else {
                throw TextError("is a pipe that did not end within \(DurationText(limit))")
            }
        }
    }

    // Anonymous shared memory acts as a regular file, and can be opened through its descriptor's path
    // (shm_open(3)).
    private static func copy(_ bytes: [UInt8]) throws(TextError) -> String {
        let name = "/tidegate-\(getpid())-\(UInt64.random(in: 0 ... .max))"
        let descriptor = shm_open(name, O_RDWR | O_CREAT | O_EXCL, 0o600)
        guard descriptor >= 0 else { throw TextError("cannot be copied: \(SystemError.message(errno))") }
        shm_unlink(name)
        guard bytes.isEmpty || write(descriptor, bytes, bytes.count) == bytes.count else {
            close(descriptor)
            throw TextError("cannot be copied: \(SystemError.message(errno))")
        }
        return "/proc/self/fd/\(descriptor)"
    }
}

/// The body of a request that comes from standard input or another pipe, and is read once, while it is sent.
final class PipedBody: Sendable {
    private let name: String
    private let reader: Mutex<PipeReader>

    /// Opens a pipe, or standard input for `-`, until the process ends; nil for other files.
    ///
    /// - Throws: ``TextError`` that names the pipe.
    init?(_ path: String) throws(TextError) {
        var status = stat()
        let isInput = path == "-"
        guard isInput || stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFIFO else { return nil }
        self.name = isInput ? "standard input" : path
        let descriptor = isInput ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        self.reader = Mutex(PipeReader(descriptor: descriptor, blocks: isInput))
        if descriptor < 0 { throw self.unreadable(errno) }
    }

    /// The body, without a length.
    var stream: UploadStream { UploadStream { try await self.next() } }

    private func next() async throws -> [UInt8]? {
        var pause = Duration.milliseconds(1)
        while true {
            switch self.reader.withLock({ $0.read() }) {
            case .bytes(let chunk): return chunk
            case .end: return nil
            case .failed(let code): throw self.unreadable(code)
            case .nothingYet:
                try await Task.sleep(for: pause)
                pause = min(pause * 2, .milliseconds(20))
            }
        }
    }

    private func unreadable(_ code: Int32) -> TextError {
        TextError("\(self.name) cannot be read: \(SystemError.message(code))")
    }
}

/// Reads a file or pipe without waiting for its writer.
struct PipeReader {
    /// The result of a read.
    enum Step {
        case bytes([UInt8])
        case nothingYet
        case end
        case failed(Int32)
    }

    let descriptor: Int32
    /// True if the descriptor was opened without O_NONBLOCK.
    var blocks = false
    private(set) var hasRead = false

    mutating func read() -> Step {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        var ready = pollfd(fd: self.descriptor, events: Int16(POLLIN), revents: 0)
        if poll(&ready, 1, 0) == 0, self.blocks { return .nothingYet }
        let count = Glibc.read(self.descriptor, &buffer, buffer.count)
        if count < 0 { return [EAGAIN, EINTR].contains(errno) ? .nothingYet : .failed(errno) }
        // Before a first writer connects, a read also returns nothing (fifo(7)).
        if count == 0 { return self.hasRead || ready.revents != 0 ? .end : .nothingYet }
        self.hasRead = true
        return .bytes(Array(buffer[..<count]))
    }

    /// Waits until data is available, for at most `limit`.
    func wait(_ limit: Duration) {
        var ready = pollfd(fd: self.descriptor, events: Int16(POLLIN), revents: 0)
        poll(&ready, 1, Int32(limit / .milliseconds(1)))
    }
}

/// A file of cookies in Netscape's format, as curl(1) reads and writes it.
enum CookieFile {
    private static let maxBytes = 4 << 20

    /// The cookies of `--cookie` and `--cookie-jar`; nil without either.
    ///
    /// The jar need not exist yet. Its cookies take precedence.
    static func jar(reading file: String?, jar: String?) throws -> CookieJar? {
        guard file != nil || jar != nil else { return nil }
        if let file, file.contains("="), access(file, F_OK) != 0 {
            throw ValidationError("--cookie: takes a file; use -H 'Cookie: NAME=VALUE' for cookies")
        }
        let cookies = CookieJar()
        if let file { try self.read(file, of: "--cookie", into: cookies) }
        if let jar, access(jar, F_OK) == 0 { try self.read(jar, of: "--cookie-jar", into: cookies) }
        return cookies
    }

    // Warns about malformed lines.
    private static func read(_ path: String, of option: String, into jar: CookieJar) throws {
        let text = try OptionParsing.naming(option, PipedFile.text(of: path, atMost: self.maxBytes))
        var skipped: [String] = []
        jar.add(netscape: text) { skipped.append("\(path):\($0): the cookie is skipped: \($1)") }
        Terminal().warn(of: skipped, in: path)
    }

    /// Writes the cookies into a file, which only its owner may read if it is new.
    static func write(_ jar: CookieJar, to path: String) throws(TextError) {
        let output = try FileOutput.open(path, of: "--cookie-jar", permissions: 0o600).get()
        _ = output.write(Array(jar.netscapeText.utf8))
        if let error = output.finish() { throw error }
    }
}
