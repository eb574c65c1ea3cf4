internal import FoundationEssentials
internal import Synchronization
internal import TidegateTransfer

/// A directory of responses with their validators: servers confirm that they are still current instead of sending them
/// again (RFC 9110 section 13, RFC 9111 section 4.3).
///
/// Unlike a cache it never answers alone: every request goes to the server. A GET whose response is stored has
/// `If-None-Match` and `If-Modified-Since` from its ETag and its Last-Modified. If the server answers 304, the task
/// succeeds with the stored body and status 200, and ``TaskResponse/isRevalidated`` and ``TaskResult/isRevalidated``
/// are true. A download keeps the existing file if that is still the one that an earlier download to the same path
/// created (inode, size and time of modification). If it is not, or if the stored body is damaged, the whole response
/// is requested.
///
/// - Responses with status 200 to GET requests are stored if they have a validator and their end is known. They are not
///   stored if they or their requests have `Cache-Control: no-store`, if they have `Vary: *`, or if their body exceeds
///   a quarter of the store's bytes. A HEAD request revalidates the stored response of a GET.
/// - A request with credentials, cookies, a client certificate, a Host or any field that may be a secret only receives
///   responses that were stored for the same ones, and none with HTTP Digest authentication. It only receives responses
///   from servers with the same ``ServerTrustPolicy``. `Vary` is obeyed.
/// - The store ignores a request with its own range or condition, one that continues a download, one with a body, one
///   whose response body is streamed, discarded or passed to an observer of data, and one with a hook that decides
///   about the response or its server.
/// - POST, PUT, PATCH, DELETE and any other unsafe method removes the stored responses of its URL if it succeeds (RFC
///   9111 section 4.4).
///
/// The files have the mode 0600 and one owner: a second store on the same directory is refused while this one exists;
/// several sessions may share one. A body is returned only if its length and SHA-256 match the record, so a crash of
/// the process loses at most the file being written, and a crash of the machine at most the last minute.
public final class ValidatorStore: Sendable {
    private struct Entry {
        var response: StoredResponse
        /// The total size of its files.
        var bytes: Int
        /// A use counter: the entry with the lowest value is removed first.
        var used: Int
    }

    private struct State {
        var entries: [String: Entry] = [:]
        var uses = 0
        var bytes = 0
        /// Files of removed entries.
        var obsolete: [String] = []
        var problems: [ValidatorStoreError] = []
    }

    /// The maximum size of all files in bytes.
    public let maxBytes: Int
    /// The maximum number of responses.
    public let maxEntries: Int

    private let directory: StoreDirectory
    /// Held while files are read, written or removed, so that they match ``state``.
    private let files = Mutex(())
    private let state = Mutex(State())

    /// The limit of a response's description in bytes; a response with a longer one is not stored.
    private static let descriptionLimit = 64 << 10

    /// Opens the store in a directory, which is created if it does not exist, with the responses of an earlier store.
    ///
    /// Beyond `maxBytes` or `maxEntries`, the least recently used responses are removed. Blocks while the files are
    /// read.
    /// - Throws: ``ValidatorStoreError`` if the directory cannot be used, belongs to another user, is writable by
    ///   others or is in use.
    public init(directory path: String, maxBytes: Int = 64 << 20, maxEntries: Int = 1000) throws(ValidatorStoreError) {
        self.maxBytes = max(0, maxBytes)
        self.maxEntries = max(0, maxEntries)
        self.directory = try Self.using(path) { () throws(FileError) in try StoreDirectory(path) }
        self.load(try Self.using(path) { () throws(FileError) in try self.directory.files() })
    }

    /// The number of stored responses.
    public var count: Int { self.state.withLock { $0.entries.count } }

    /// The total size of their files in bytes.
    public var bytes: Int { self.state.withLock { $0.bytes } }

    /// The largest body to store, in bytes.
    var bodyLimit: Int { self.maxBytes / 4 }

    /// Removes every response.
    ///
    /// Blocks while the files are removed.
    public func removeAll() {
        self.state.withLock { state in
            for key in Array(state.entries.keys) { Self.remove(key, &state) }
        }
        self.removeObsoleteFiles()
    }

    // MARK: - Opening

    private func load(_ files: [StoreDirectory.File]) {
        let sizes = Dictionary(files.map { ($0.name, $0.size) }) { first, _ in first }
        // The directory may contain foreign files: only files with names of the store are changed.
        for file in files.sorted(by: { $0.modified < $1.modified }) where file.name.hasSuffix(".json") {
            guard Self.isOwn(file.name) else { continue }
            do throws(ValidatorStoreError) {
                let (response, bytes) = try self.describe(file.name, sizes)
                self.insert(response, bytes: bytes)
            } catch {
                self.state.withLock { state in
                    state.problems.append(error)
                    state.obsolete.append(file.name)
                }
            }
        }
        self.state.withLock { state in
            let known = Set(state.entries.values.flatMap { [$0.response.name, $0.response.bodyName ?? ""] })
            state.obsolete += files.map(\.name).filter { Self.isOwn($0) && !known.contains($0) }
        }
        self.removeObsoleteFiles()
    }

    // Adds the path of the store's file to an error of the disk.
    private static func using<Value>(
        _ file: String, _ body: () throws(FileError) -> Value
    ) throws(ValidatorStoreError) -> Value {
        do throws(FileError) { return try body() } catch { throw ValidatorStoreError(error, of: file) }
    }

    private static func isOwn(_ name: String) -> Bool {
        let key = name.prefix { $0 != "." }
        return key.utf8.count == 64 && key.count != name.count && key.allSatisfy { $0.isHexDigit && !$0.isUppercase }
    }

    private func describe(
        _ name: String, _ sizes: [String: Int64]
    ) throws(ValidatorStoreError) -> (StoredResponse, bytes: Int) {
        let file = self.directory.file(name)
        let text = try Self.using(file) { () throws(FileError) in
            try self.directory.read(name, atMost: Self.descriptionLimit) ?? []
        }
        guard let response = try? JSONDecoder().decode(StoredResponse.self, from: Data(text)), response.name == name,
            response.head != nil
        else { throw ValidatorStoreError(file: file, problem: "is damaged") }
        guard case .stored(let length, _) = response.body, let body = response.bodyName else {
            return (response, text.count)
        }
        guard sizes[body] == Int64(length) else {
            throw ValidatorStoreError(
                file: self.directory.file(body), problem: sizes[body] == nil ? "is missing" : "has the wrong size")
        }
        return (response, text.count + length)
    }

    // MARK: - Looking up

    /// The stored response for a request; nil if none can be revalidated.
    func response(for request: StoredRequest) -> StoredResponse? {
        self.state.withLock { state in
            guard let response = state.entries[request.key]?.response, response.answers(request) else { return nil }
            state.uses += 1
            state.entries[request.key]?.used = state.uses
            return response
        }
    }

    /// Whether the file of a body exists; only reading it shows whether it is intact.
    func hasBody(of response: StoredResponse) -> Bool { response.bodyName.map { self.directory.contains($0) } ?? false }

    /// The body of a stored response; a damaged or missing one is removed, an unreadable one stays.
    ///
    /// Blocks: for the disk thread.
    func body(of response: StoredResponse) throws(ValidatorStoreError) -> [UInt8] {
        guard case .stored(let length, let digest) = response.body, let name = response.bodyName else { return [] }
        let file = self.directory.file(name)
        let bytes = try Self.using(file) { () throws(FileError) in
            try self.files.withLock { _ throws(FileError) in try self.directory.read(name, atMost: length) }
        }
        if let bytes, bytes.count == length, MessageDigest.sha256(bytes).hexadecimal == digest { return bytes }
        self.remove(response)
        self.removeObsoleteFiles()
        throw ValidatorStoreError(
            file: file, problem: bytes == nil ? "is missing" : "is damaged: its length or SHA-256 does not match")
    }

    // MARK: - Changing

    /// Stores a response; `body` is nil if it is elsewhere or already in the store.
    ///
    /// Blocks: for the disk thread.
    func put(_ response: StoredResponse, body: [UInt8]?) throws(ValidatorStoreError) {
        guard let text = try? JSONEncoder().encode(response), text.count < Self.descriptionLimit else { return }
        try Self.using(self.directory.file(response.name)) { () throws(FileError) in
            try self.files.withLock { _ throws(FileError) in
                // The body comes first: its description never promises more than exists.
                if let body, let name = response.bodyName { try self.directory.replace(name, with: body) }
                try self.directory.replace(response.name, with: Array(text))
                let length = if case .stored(let length, _) = response.body { length } else { 0 }
                self.insert(response, bytes: text.count + length)
            }
        }
        self.removeObsoleteFiles()
    }

    private func insert(_ response: StoredResponse, bytes: Int) {
        self.state.withLock { state in
            Self.remove(response.key, &state)
            state.uses += 1
            state.entries[response.key] = Entry(response: response, bytes: bytes, used: state.uses)
            state.bytes += bytes
            while state.bytes > self.maxBytes || state.entries.count > self.maxEntries {
                guard let oldest = state.entries.min(by: { $0.value.used < $1.value.used })?.key else { break }
                Self.remove(oldest, &state)
            }
        }
    }

    /// Removes a response, unless a newer one has replaced it; its files stay until ``removeObsoleteFiles()``.
    func remove(_ response: StoredResponse) {
        self.state.withLock { state in
            if state.entries[response.key]?.response.body == response.body { Self.remove(response.key, &state) }
        }
    }

    /// Removes the stored responses of a URL; true if there were any, whose files stay until ``removeObsoleteFiles()``.
    func remove(url: String) -> Bool {
        self.state.withLock { state in
            let keys = state.entries.filter { $0.value.response.url == url }.map(\.key)
            for key in keys { Self.remove(key, &state) }
            return !keys.isEmpty
        }
    }

    private static func remove(_ key: String, _ state: inout State) {
        guard let entry = state.entries.removeValue(forKey: key) else { return }
        state.bytes -= entry.bytes
        state.obsolete.append(entry.response.name)
        if let body = entry.response.bodyName { state.obsolete.append(body) }
    }

    /// Deletes the files of removed responses.
    ///
    /// Blocks: for the disk thread.
    func removeObsoleteFiles() {
        self.files.withLock { _ in
            let names = self.state.withLock { state in
                let known = Set(state.entries.values.flatMap { [$0.response.name, $0.response.bodyName ?? ""] })
                return Set(exchange(&state.obsolete, with: [])).subtracting(known)
            }
            // Remaining files are found when the store is next opened.
            for name in names { try? self.directory.remove(name) }
        }
    }

    /// Stores the newer head of a response whose body is in the store; stores nothing for one that was replaced in the
    /// meantime.
    func refresh(_ response: StoredResponse) {
        let isCurrent = self.state.withLock { $0.entries[response.key]?.response.body == response.body }
        if isCurrent { self.tryPut(response, body: nil) }
    }

    /// Like ``put(_:body:)``, but records errors instead of throwing them.
    func tryPut(_ response: StoredResponse, body: [UInt8]?) {
        do throws(ValidatorStoreError) { try self.put(response, body: body) } catch { self.note(error) }
    }

    func note(_ problem: ValidatorStoreError) { self.state.withLock { $0.problems.append(problem) } }

    /// The problems since the last call: removed entries, and files that could not be read or written.
    package func takeProblems() -> [ValidatorStoreError] {
        self.state.withLock { exchange(&$0.problems, with: []) }
    }
}

extension ValidatorStore: Hashable {
    /// Stores are equal if they are identical.
    public static func == (left: ValidatorStore, right: ValidatorStore) -> Bool { left === right }

    /// Hashes its identity.
    public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

/// Why a file or the directory of a ``ValidatorStore`` cannot be used.
public struct ValidatorStoreError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The file or the directory.
    public let file: String
    /// The problem, in one clause that follows the file's name.
    public let problem: String

    /// One sentence without a full stop.
    public var description: String { "\(self.file) \(self.problem)" }
}

extension ValidatorStoreError {
    init(_ error: FileError, of file: String) {
        self.file = file
        let text = error.description
        let rest = text.dropFirst(file.count)
        // The error names the file itself or a file beside it; the failed call alone is not a clause.
        if text.hasPrefix("\(file): ") {
            self.problem = "cannot be used (\(rest.dropFirst(2)))"
        } else {
            self.problem = text.hasPrefix("\(file) ") ? String(rest.dropFirst()) : text
        }
    }
}
