internal import Glibc
internal import Synchronization
internal import TidegateCore
internal import TidegateServer

/// Reloads a web configuration file when it changes; a valid file applies from the next request on.
final class WebFileSource: AccessPolicyLoader {
    /// The result of a reload.
    enum Report: Sendable {
        /// The file has changed and now applies.
        case reloaded
        /// The changed file is invalid; the previous one still applies.
        case rejected(ConfigurationError)
    }

    private let path: String
    private let time: any TimeSource
    private let thread: FileThread<WebFile?>?
    private let read: @Sendable (String, WallTime) -> WebFile
    private let report: @Sendable (Report) -> Void
    private let state: Mutex<State>

    private struct State {
        var access: LoadedAccessPolicy
        var last: WebFile
        /// True once a file's silence has been reported, until it answers.
        var isSilent = false
    }

    /// The time limit for reading the files.
    private static let limit = Duration.seconds(1)

    /// Follows the file at `path`, which has the contents `first` at the start.
    init(
        path: String, first: WebFile, access: LoadedAccessPolicy, time: any TimeSource,
        read: @escaping @Sendable (String, WallTime) -> WebFile = { WebFile($0, at: $1) },
        report: @escaping @Sendable (Report) -> Void
    ) {
        self.path = path
        self.time = time
        // Without a separate thread, files are read on the caller's thread.
        self.thread = try? FileThread()
        self.read = read
        self.report = report
        self.state = Mutex(State(access: access, last: first))
    }

    func currentPolicy() -> LoadedAccessPolicy {
        let (current, last) = self.state.withLock { ($0.access, $0.last) }
        guard let next = self.changed(since: last) else { return current }
        guard next.contents != last.contents else {
            self.state.withLock { $0.last = next }
            return current
        }
        let access = self.validated(next, replacing: current)
        self.state.withLock { $0 = State(access: access, last: next) }
        return access
    }

    // The new file if it may have changed; nil if it has not, or if it does not answer.
    private func changed(since last: WebFile) -> WebFile? {
        let (path, time, read) = (self.path, self.time, self.read)
        let look: @Sendable () -> WebFile? = { last.isCurrent ? nil : read(path, time.wall()) }
        switch self.thread?.answer(within: WebFileSource.limit, to: look) ?? .value(look()) {
        case .value(let next):
            let wasSilent = self.state.withLock { exchange(&$0.isSilent, with: false) }
            if wasSilent, case .success = last.result, next?.contents ?? last.contents == last.contents {
                self.report(.reloaded)
            }
            return next
        case .late:
            self.state.withLock { $0.isSilent = true }
            let message = "it, or a file that it names, did not answer within \(DurationText(WebFileSource.limit))"
            self.report(.rejected(ConfigurationError(file: path, message)))
            return nil
        case .busy: return nil
        }
    }

    private func validated(_ next: WebFile, replacing current: LoadedAccessPolicy) -> LoadedAccessPolicy {
        do throws(ConfigurationError) {
            let access = try next.result.get()
            try self.checkNotWeaker(access, than: current)
            self.report(.reloaded)
            return access
        } catch {
            self.report(.rejected(error))
            return current
        }
    }

    // A file is briefly empty while it is written, which must not disable TLS or authentication.
    private func checkNotWeaker(_ access: LoadedAccessPolicy, than current: LoadedAccessPolicy)
        throws(ConfigurationError)
    {
        let lost = [
            current.isEncrypted && !access.isEncrypted ? "tls_server_config" : nil,
            current.hasUsers && !access.hasUsers ? "basic_auth_users" : nil,
        ].compactMap(\.self)
        guard !lost.isEmpty else { return }
        throw ConfigurationError(
            lost.map {
                .init(file: self.path, line: nil, key: $0, message: "cannot be removed without a restart")
            })
    }
}

/// A web configuration file and the files that it names, as read at one time.
struct WebFile: Sendable {
    /// The access rules of the files.
    let result: Result<LoadedAccessPolicy, ConfigurationError>
    /// Settings without effect, and keys that every user may read, one sentence each.
    let warnings: [String]
    /// The contents of the files, to detect changes; for an unreadable file, the error message.
    let contents: [String]
    private let stamps: [String: FileStamp?]
    private let moment: WallTime

    /// Reads a file and the files that it names; relative paths are relative to its directory.
    init(_ path: String, at moment: WallTime) {
        var files = Files(directory: path.lastIndex(of: "/").map { String(path[...$0]) } ?? "")
        var configuration = WebConfiguration()
        self.result = Result { () throws(ConfigurationError) in
            try Self.readPolicy(path, &files, &configuration)
        }
        self.warnings =
            configuration.keysWithoutEffect + configuration.expensiveUsers
            + files.keyFiles.compactMap(SecretFile.warning(about:))
        self.contents = files.contents
        self.stamps = files.stamps
        self.moment = moment
    }

    /// True if the files certainly have not changed since they were read.
    ///
    /// Also false while the stamps are too recent to show a change.
    var isCurrent: Bool {
        self.stamps.allSatisfy { path, stamp in
            stamp?.isSettled(at: self.moment) != false && FileStamp(path) == stamp
        }
    }

    private static func readPolicy(
        _ path: String, _ files: inout Files, _ configuration: inout WebConfiguration
    ) throws(ConfigurationError) -> LoadedAccessPolicy {
        let text = try Result { try files.text(of: path) }
            .mapError { ConfigurationError(file: path, "\($0)") }.get()
        let root = try YAMLFile.parse(text, file: path)
        var problems = ProblemList()
        if let root { problems.read(WebSchema.root, from: root, into: &configuration) }
        guard problems.entries.isEmpty else { throw ConfigurationError(problems.entries) }
        var policy = configuration.policy
        policy.rate = configuration.limit
        let section = root?.value(of: "tls_server_config")
        if let section {
            policy.tls = files.serving(configuration.tls, section, &problems)
            guard problems.entries.isEmpty else { throw ConfigurationError(problems.entries) }
        }
        do {
            return try LoadedAccessPolicy(policy)
        } catch {
            // Reports the line of the key that set the invalid part.
            let node = self.keys(of: error.part).compactMap { section?.value(of: $0) }.first ?? section
            let problem = ConfigurationError.Problem(
                file: path, line: node?.line, key: node?.path, message: error.message)
            throw ConfigurationError([problem])
        }
    }

    private static func keys(of part: AccessError.Part) -> [String] {
        switch part {
        case .certificate: ["cert_file", "cert"]
        case .key: ["key_file", "key"]
        case .clientAuthorities: ["client_ca_file", "client_ca"]
        case .tls: []
        }
    }

    /// The files read so far, in order.
    struct Files {
        /// The directory of relative paths; empty, or ending with a slash.
        let directory: String
        fileprivate(set) var contents: [String] = []
        fileprivate(set) var stamps: [String: FileStamp?] = [:]
        /// The files with private keys.
        fileprivate(set) var keyFiles: [String] = []

        /// The text of a file; its stamp is taken before the read, so that a change in between is detected later.
        mutating func text(of path: String) throws(TextError) -> String {
            self.stamps.updateValue(FileStamp(path), forKey: path)
            do {
                let text = try TextFile.read(path, atMost: 1 << 20)
                self.contents.append(text)
                return text
            } catch {
                self.contents.append(error.description)
                throw error
            }
        }

        /// The TLS settings; nil without TLS, or if a file cannot be read, which adds a problem.
        mutating func serving(
            _ tls: WebConfiguration.TLS, _ section: ConfigurationNode, _ problems: inout ProblemList
        ) -> TLSServerConfiguration? {
            guard let certificate = self.text(tls.certificate, tls.certificateFile, section, "cert_file", &problems),
                let key = self.text(tls.key, tls.keyFile, section, "key_file", &problems)
            else { return nil }
            var serving = tls.serving
            (serving.certificate, serving.key) = (certificate, key)
            serving.clientAuthorities = self.text(
                tls.clientAuthorities, tls.clientAuthoritiesFile, section, "client_ca_file", &problems)
            return serving
        }

        // The text in the configuration, or in the file that it names under `key`.
        private mutating func text(
            _ text: String?, _ path: String?, _ section: ConfigurationNode, _ key: String,
            _ problems: inout ProblemList
        ) -> String? {
            guard text == nil, let path, let node = section.value(of: key) else { return text }
            let file = path.hasPrefix("/") ? path : self.directory + path
            if key == "key_file" { self.keyFiles.append(file) }
            do {
                return try self.text(of: file)
            } catch {
                problems.add("\(file) \(error)", at: node)
                return nil
            }
        }
    }
}

/// The attributes of a file that change when its contents do (stat(2)).
struct FileStamp: Sendable, Hashable {
    private let device: UInt64
    private let inode: UInt64
    private let size: Int64
    private let modified: Int64
    private let changed: Int64

    /// The current stamp of the file at a path; nil if there is no file.
    init?(_ path: String) {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        self.device = UInt64(status.st_dev)
        self.inode = UInt64(status.st_ino)
        self.size = Int64(status.st_size)
        self.modified = Self.nanoseconds(status.st_mtim)
        self.changed = Self.nanoseconds(status.st_ctim)
    }

    /// False while another change might leave the stamp unchanged: file system timestamps are coarse.
    func isSettled(at now: WallTime) -> Bool { now.microseconds - self.changed / 1000 > 2_000_000 }

    private static func nanoseconds(_ time: timespec) -> Int64 {
        Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }
}
