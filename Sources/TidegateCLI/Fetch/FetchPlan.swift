internal import ArgumentParser
internal import Glibc
internal import Tidegate
internal import TidegateDaemon

/// The transfers of `fetch`, planned before any file is opened or written; shared parts are made once.
struct FetchPlan: Sendable {
    /// One transfer.
    struct Item: Sendable {
        var request: TaskRequest
        /// The form that the request sends; nil without one.
        var form: MultipartForm?
        /// The directory of a file that the response names, empty or ending with a slash; nil for other destinations.
        var folder: String?
        /// The name there if the response names none: that of the URL which was given, wherever a redirect leads.
        var name = ""

        /// The task's options beyond its request: a form is read again each time it is sent, and a response may name
        /// its file.
        var options: TaskOptions? {
            let repeating = self.form.flatMap { TaskOptions(repeating: $0, in: self.request.body) }
            guard let folder = self.folder else { return repeating }
            var options = repeating ?? TaskOptions()
            options.hooks.disposition = { [name] in .download(to: folder + ($1.namedFile ?? name)) }
            return options
        }

        /// The name in progress lines: the file, or the URL.
        var label: String {
            guard let file = self.request.destination.path else { return URLRedaction().text(of: self.request.url) }
            return String(file.split(separator: "/").last ?? Substring(file))
        }

        /// The label with the file that the response has named.
        func label(naming file: String?) -> String {
            self.folder == nil ? self.label : file.map { "\(self.label) (\($0))" } ?? self.label
        }
    }

    /// Where bodies are written.
    enum Output: Sendable, Hashable {
        /// Named explicitly (`-o -`), so that even a binary body is written.
        case standardOutput(isNamed: Bool)
        case discard
        case file(String)
        /// Into files named after their URLs; the folder is empty or ends with a slash.
        case folder(String)
    }

    let session: SessionConfiguration
    /// The check behind the requirement `online`.
    let internetCheck: InternetCheckPolicy
    let output: Output
    private let continues: Bool
    /// True if responses name their files.
    private let usesHeaderNames: Bool
    private let netrc: Netrc?
    private let form: MultipartForm?
    /// The previous request; the next one changes only the URL and the destination.
    private var template: TaskRequest

    /// - Throws: A usage error.
    init(_ options: FetchCommand) throws {
        let timeouts = try options.timeouts.parsed()
        self.output = try FetchPlan.output(options)
        self.continues = options.continues
        self.usesHeaderNames = options.destination.remoteHeaderName
        self.netrc = try options.http.passwords()
        let fields = try options.http.formFields()
        self.form = fields.isEmpty ? nil : try OptionParsing.naming("--form", MultipartForm(fields))
        self.session = try FetchPlan.session(options, timeouts)
        self.internetCheck = timeouts.internetCheck
        self.template = try FetchPlan.template(options, timeouts)
    }

    /// True if a body is written to standard output.
    var writesBody: Bool { if case .standardOutput = self.output { true } else { false } }

    /// True if the request's body can be sent once only.
    var sendsPipe: Bool { if case .stream = self.template.body { true } else { false } }

    /// True if only one URL is allowed.
    var takesOneURL: Bool {
        switch self.output {
        case .discard, .folder: false
        case .standardOutput, .file: true
        }
    }

    /// The transfer of a URL; `names` are the file names used so far.
    mutating func item(for url: String, _ names: inout FileNames) throws(TextError) -> Item {
        switch self.output {
        case .standardOutput: return try self.item(url, to: .descriptor(1))
        case .discard: return try self.item(url, to: .discard)
        case .file(let path): return try self.item(url, to: self.file(path))
        case .folder(let folder) where self.usesHeaderNames:
            var item = try self.item(url, to: .discard)
            item.folder = folder
            item.name = (try? names.name(for: url)) ?? ""
            return item
        case .folder(let folder):
            do throws(TextError) {
                return try self.item(url, to: self.file(folder + names.name(for: url)))
            } catch {
                // Reports an invalid URL as such, rather than as one without a file name.
                _ = try self.request(url, to: .discard)
                throw error
            }
        }
    }

    private func file(_ path: String) -> Destination { .file(path, continues: self.continues) }

    private mutating func item(_ url: String, to destination: Destination) throws(TextError) -> Item {
        let request = try self.request(url, to: destination)
        guard let form = self.form else { return Item(request: request) }
        let sending = try Result { () throws(TaskError) in try request.sending(form) }
            .mapError { TextError("--form: \($0.underlying)") }.get()
        return Item(request: sending, form: form)
    }

    private mutating func request(_ url: String, to destination: Destination) throws(TextError) -> TaskRequest {
        self.template = try Result { () throws(TaskError) in try self.template.copy(of: url, to: destination) }
            .mapError { TextError($0.underlying) }.get()
        // Credentials are not kept in the template, because the next URL may have another host.
        guard let netrc = self.netrc, let address = try? HTTPURL(url) else { return self.template }
        var request = self.template
        let services = [address.scheme.rawValue, "\(address.target.port ?? address.scheme.port)"]
        request.options.credentials = netrc.credentials(
            for: address.target.host, login: address.credentials?.user, over: services)
        return request
    }

    // MARK: Output

    private static func output(_ options: FetchCommand) throws -> Output {
        let destination = options.destination
        if destination.discard { return .discard }
        if destination.remoteName || destination.outputDir != nil {
            return .folder(destination.outputDir.map { $0.hasSuffix("/") ? $0 : "\($0)/" } ?? "")
        }
        let output = try self.output(destination.output)
        if case .file(let path) = output, !options.continues || !Destination.isStream(at: path) { return output }
        if options.continues { throw ValidationError("--continue requires a file; use -o or -O") }
        return output
    }

    /// The destination of a body for the option -o.
    static func output(_ path: String?) throws -> Output {
        guard let path, path != "-" else { return .standardOutput(isNamed: path != nil) }
        guard !path.isEmpty, !path.hasSuffix("/") else {
            throw ValidationError("-o: \"\(path)\" is not a file name")
        }
        if Destination.descriptor(at: path) == STDOUT_FILENO { return .standardOutput(isNamed: true) }
        var status = stat()
        // Linux: character device 1:3 (null(4)). Bodies are read and discarded.
        let isNull = stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFCHR && status.st_rdev == 0x103
        return isNull ? .discard : .file(path)
    }

    // MARK: Request

    private static func template(_ options: FetchCommand, _ timeouts: TimeoutOptions.Parsed) throws -> TaskRequest {
        do {
            // Each transfer replaces this URL.
            var submission = try options.request.submission(for: "http://localhost/")
            if !options.http.form.isEmpty { submission.method = submission.method ?? "POST" }
            let pipe = try submission.bodyFile.flatMap { file throws(TextError) in
                do { return try PipedBody(file) } catch { throw TextError("--upload-file: \(error)") }
            }
            if pipe != nil { (submission.method, submission.bodyFile) = (submission.method ?? "PUT", nil) }
            var request = try submission.request()
            if let pipe { request.body = .stream(pipe.stream) }
            request.options.connectTimeout = timeouts.connectTimeout
            request.options.deadline = timeouts.deadline
            request.options.maxRedirects = options.http.maxRedirs
            request.options.usesHTTP2 = options.http.usesHTTP2
            request.options.createsDirectories = options.destination.createDirs
            request.options.keepsExistingFile = options.destination.remoteHeaderName
            request.options.takesRemoteTime = options.destination.remoteTime
            // The session has what this command was given.
            (request.options.usesCookies, request.options.usesValidators) = (nil, nil)
            request.options.bytesPerSecondLimit = try options.network.bytesPerSecond()
            let speed = try options.network.lowestSpeed()
            request.options.lowestBytesPerSecond = speed.rate
            request.options.slowTime = speed.rate == nil ? nil : speed.time
            request.options.maxBodyBytes = try options.http.maxBodyBytes()
            request.options.credentials = options.http.user.map { user in
                let parts = user.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
                return Credentials(user: String(parts[0]), password: parts.count == 2 ? String(parts[1]) : "")
            }
            return request
        } catch let error as TextError {
            throw ValidationError(error.description)
        }
    }

    // MARK: Session

    private static func session(
        _ options: FetchCommand, _ timeouts: TimeoutOptions.Parsed
    ) throws -> SessionConfiguration {
        let cookies = try CookieFile.jar(reading: options.http.cookie, jar: options.http.cookieJar)
        let validators = try options.http.validatorStore()
        let proxy = try options.network.proxies.policy(environment: Terminal.environment)
        do throws(ConfigurationValueError) {
            var configuration = SessionConfiguration()
            configuration.maxConnectionsPerHost = options.network.parallel
            configuration.maxConnections = options.network.parallel
            (configuration.proxy, configuration.tls) = (proxy, options.network.trust.policy)
            (configuration.retry, configuration.gate) = (timeouts.retry, timeouts.gate)
            configuration.userAgent = "tidegate/\(TidegateVersion.version)"
            configuration.endedTasksKept = 0
            // A user is waiting, and --retry already limits the attempts.
            configuration.circuit = .never
            configuration.cookies = cookies
            configuration.validators = validators
            configuration.recordsExchanges = options.verbose || options.har != nil
            try configuration.validate()
            return configuration
        } catch {
            throw ValidationError("--\(error)")
        }
    }
}
