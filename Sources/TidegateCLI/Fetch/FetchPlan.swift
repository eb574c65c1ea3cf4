internal import ArgumentParser
internal import Tidegate
internal import TidegateDaemon

/// The transfers of `fetch`, planned before anything is opened or written.
struct FetchPlan: Sendable {
    /// One transfer.
    struct Item: Sendable {
        /// The name in progress lines: its file, or its URL.
        var label: String
        var request: TaskRequest
        /// A device or pipe that is opened when the transfers start, and receives the body.
        var stream: String?
    }

    var items: [Item]
    var session: SessionConfiguration
    /// The check behind the requirement `online`.
    var internetCheck: InternetCheckPolicy
    /// True if a body is written to standard output.
    var writesBody: Bool

    /// Plans the transfers of `urls`: those of `options` and of its input file.
    ///
    /// - Throws: A usage error.
    init(_ options: FetchOptions, urls: [String]) throws {
        guard !urls.isEmpty else { throw ValidationError("no URL in the input file") }
        let outputs = try FetchPlan.outputs(options, urls)
        self.session = try FetchPlan.session(options)
        self.internetCheck = try options.timeouts.parsed().internetCheck
        self.items = try zip(urls, outputs).map { url, output in
            var request = try FetchPlan.request(url, options)
            request.destination = output.destination(continues: options.continues)
            return Item(label: output.label(for: url), request: request, stream: output.stream)
        }
        self.writesBody = outputs.contains { $0 == .standardOutput }
    }

    // MARK: Output

    /// Where the body of one transfer is written.
    private enum Output: Equatable {
        case standardOutput, discard
        case file(String)
        case stream(String)

        var file: String? {
            switch self {
            case .standardOutput, .discard, .stream: nil
            case .file(let path): path
            }
        }

        var stream: String? {
            if case .stream(let path) = self { path } else { nil }
        }

        func destination(continues: Bool) -> Destination {
            switch self {
            case .standardOutput: .descriptor(1)
            // A stream has no descriptor until it is opened.
            case .discard, .stream: .discard
            case .file(let path): .file(path, continues: continues)
            }
        }

        func label(for url: String) -> String {
            switch self {
            case .standardOutput, .discard, .stream: URLRedaction().text(of: url)
            case .file(let path): String(path.split(separator: "/").last ?? Substring(path))
            }
        }
    }

    private static func outputs(_ options: FetchOptions, _ urls: [String]) throws -> [Output] {
        let destination = options.destination
        if destination.discard { return urls.map { _ in .discard } }
        if destination.remoteName || destination.outputDir != nil {
            do throws(TextError) {
                let folder = destination.outputDir.map { $0.hasSuffix("/") ? $0 : "\($0)/" } ?? ""
                return try FileNaming.names(for: urls).map { .file(folder + $0) }
            } catch {
                throw ValidationError(error.description)
            }
        }
        guard urls.count == 1 else {
            throw ValidationError("several URLs require -O, --output-dir or --discard")
        }
        let output = try self.output(destination.output)
        if options.continues, output.file == nil {
            throw ValidationError("--continue requires a file; use -o or -O")
        }
        return [output]
    }

    private static func output(_ path: String?) throws -> Output {
        guard let path, path != "-" else { return .standardOutput }
        guard !path.isEmpty, !path.hasSuffix("/") else {
            throw ValidationError("-o: \"\(path)\" is not a file name")
        }
        return switch DestinationCheck.kind(of: path) {
        case .file: .file(path)
        case .null: .discard
        case .stream: .stream(path)
        case .output: .standardOutput
        }
    }

    // MARK: Request

    private static func request(_ url: String, _ options: FetchOptions) throws -> TaskRequest {
        let timeouts = try options.timeouts.parsed()
        do {
            var request = try options.request.submission(for: url).request()
            request.connectTimeout = timeouts.connectTimeout
            request.deadline = timeouts.deadline
            request.maxRedirects = options.http.maxRedirs
            request.usesHTTP2 = options.http.usesHTTP2
            request.acceptsCompression = options.http.compressed
            request.bytesPerSecondLimit = try options.network.bytesPerSecond()
            request.credentials = options.http.user.map { user in
                let parts = user.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
                return Credentials(user: String(parts[0]), password: parts.count == 2 ? String(parts[1]) : "")
            }
            return request
        } catch let error as TextError {
            throw ValidationError(error.description)
        }
    }

    // MARK: Session

    private static func session(_ options: FetchOptions) throws -> SessionConfiguration {
        let timeouts = try options.timeouts.parsed()
        do throws(ConfigurationValueError) {
            let configuration = SessionConfiguration(
                maxConnectionsPerHost: options.network.parallel, maxConnections: options.network.parallel,
                proxy: options.network.proxy,
                tls: TLSPolicy(caFile: options.network.authority.cacert, isInsecure: options.network.insecure),
                retry: RetryPolicy(attempts: timeouts.attempts, maxElapsed: timeouts.retryMaxTime),
                gate: timeouts.require.isEmpty
                    ? .open : GatePolicy(require: timeouts.require, patience: timeouts.patience),
                userAgent: "tidegate/\(TidegateVersion.version)", endedTasksKept: 0,
                // A user is waiting, and --retry already limits the attempts.
                circuit: .never)
            try configuration.validate()
            return configuration
        } catch {
            throw ValidationError("--\(error)")
        }
    }
}
