internal import ArgumentParser
internal import Tidegate
internal import TidegateDaemon

/// What `fetch` is going to do, decided before anything is opened or written.
struct FetchPlan: Sendable {
    /// One transfer.
    struct Item: Sendable {
        /// What people call it: its file, or its URL.
        var label: String
        var request: TaskRequest
        /// The final file; nil where the body goes elsewhere.
        var file: String?
        /// A device or pipe that is opened when the transfers start, and gets the body.
        var stream: String?
    }

    var items: [Item]
    var session: SessionConfiguration
    /// Whom the requirement online goes by.
    var internetCheck: InternetCheckPolicy
    /// True where the standard output carries a body.
    var writesBody: Bool

    /// Plans the transfers of `urls`, which are those of `options` and of its input file.
    ///
    /// - Throws: a usage error in one sentence.
    init(_ options: FetchOptions, urls: [String]) throws {
        guard !urls.isEmpty else { throw ValidationError("there is nothing to fetch: the input file names no URL") }
        let places = try FetchPlan.places(options, urls)
        self.session = try FetchPlan.session(options)
        self.internetCheck = try options.patience.values().internetCheck
        self.items = try zip(urls, places).map { url, place in
            var request = try FetchPlan.request(url, options)
            request.destination = place.destination(continues: options.continues)
            return Item(label: place.label(for: url), request: request, file: place.file, stream: place.stream)
        }
        self.writesBody = places.contains { $0 == .output }
    }

    // MARK: Where bodies go

    private enum Place: Equatable {
        case output, nowhere
        case file(String)
        case stream(String)

        var file: String? {
            switch self {
            case .output, .nowhere, .stream: nil
            case .file(let path): path
            }
        }

        var stream: String? {
            if case .stream(let path) = self { path } else { nil }
        }

        func destination(continues: Bool) -> Destination {
            switch self {
            case .output: .descriptor(1)
            // A stream gets its descriptor when it is opened.
            case .nowhere, .stream: .discard
            case .file(let path): .file(path, continues: continues)
            }
        }

        func label(for url: String) -> String {
            switch self {
            case .output, .nowhere, .stream: URLRedaction().text(of: url)
            case .file(let path): String(path.split(separator: "/").last ?? Substring(path))
            }
        }
    }

    private static func places(_ options: FetchOptions, _ urls: [String]) throws -> [Place] {
        let destination = options.destination
        if destination.discard { return urls.map { _ in .nowhere } }
        if destination.remoteName || destination.outputDir != nil {
            do throws(TextError) {
                let folder = destination.outputDir.map { $0.hasSuffix("/") ? $0 : "\($0)/" } ?? ""
                return try FileNaming.names(for: urls).map { .file(folder + $0) }
            } catch {
                throw ValidationError(error.description)
            }
        }
        guard urls.count == 1 else {
            throw ValidationError("several URLs need -O, --output-dir or --discard")
        }
        let place = try self.place(of: destination.output)
        if options.continues, place.file == nil {
            throw ValidationError("--continue needs a file: add -o or -O")
        }
        return [place]
    }

    private static func place(of output: String?) throws -> Place {
        guard let output, output != "-" else { return .output }
        guard !output.isEmpty, !output.hasSuffix("/") else {
            throw ValidationError("-o: \"\(output)\" does not name a file")
        }
        return switch DestinationCheck.kind(of: output) {
        case .file: .file(output)
        case .null: .nowhere
        case .stream: .stream(output)
        case .output: .output
        }
    }

    // MARK: What is asked

    private static func request(_ url: String, _ options: FetchOptions) throws -> TaskRequest {
        let message = options.request.message
        let body = message.body
        let content: RequestBody =
            switch body.content {
            case .none: .none
            case .text(let text): .data(Array(text.utf8))
            case .file(let path): .file(path)
            }
        let values = try options.patience.values()
        do {
            var request = try TaskRequest(
                url: url, method: message.method ?? body.method, headers: try message.fields(), body: content)
            request.sha256 = try message.sha256.map { try OptionParsing.digest($0, of: "--sha256") }
            request.connectTimeout = values.connectTimeout
            request.deadline = values.deadline
            request.maxRedirects = options.request.maxRedirs
            request.usesHTTP2 = options.request.usesHTTP2
            request.acceptsCompression = options.request.compressed
            request.bytesPerSecondLimit = try options.line.bytesPerSecond()
            request.credentials = options.request.user.map { user in
                let parts = user.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
                return Credentials(user: String(parts[0]), password: parts.count == 2 ? String(parts[1]) : "")
            }
            return request
        } catch let error as TaskError {
            throw ValidationError(error.underlying)
        }
    }

    // MARK: What holds for all

    private static func session(_ options: FetchOptions) throws -> SessionConfiguration {
        let values = try options.patience.values()
        do throws(PolicyError) {
            return try SessionConfiguration(
                maxConnectionsPerHost: options.line.parallel, maxConnections: options.line.parallel,
                proxy: options.line.proxy,
                tls: try TLSPolicy(caFile: options.line.authority.cacert, isInsecure: options.line.insecure),
                retry: try RetryPolicy(attempts: values.attempts, maxElapsed: values.retryMaxTime),
                gate: values.require.isEmpty
                    ? .open : try GatePolicy(require: values.require, patience: values.patience),
                userAgent: "tidegate/\(TidegateVersion.version)", endedTasksKept: 0,
                // Whoever asked is waiting; the number of tries is bound already.
                circuit: .never)
        } catch {
            throw ValidationError("--\(error)")
        }
    }
}
