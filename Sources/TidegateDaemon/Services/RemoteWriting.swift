internal import HTTPTypes
internal import Logging
internal import Synchronization
internal import Tidegate
internal import TidegateServer
internal import TidegateStore

extension RemoteWriter {
    /// Starts sending the samples that `endpoint` exposes; unsent samples stay on disk for the next start.
    convenience init(
        _ configuration: RemoteWriteConfiguration, monitor: Monitor, endpoint: Endpoint, time: any TimeSource
    ) throws(TaskError) {
        let bus = monitor.bus
        try self.init(
            configuration, paths: monitor.reachability, resolver: Monitor.systemResolver(time: time), time: time,
            own: monitor.own, collect: { endpoint.samples() }, onEvent: { bus.publish(.daemon(.remoteWrite($0))) })
    }
}

extension Configuration {
    /// The writer's configuration; nil without a receiver.
    func remoteWriteConfiguration(settings: DaemonSettings, logger: Logger) -> RemoteWriteConfiguration? {
        let section = self.remoteWrite
        guard let url = section.url else { return nil }
        var configuration = RemoteWriteConfiguration(
            url: url, directory: "\(settings.stateDirectory)/remote-write")
        (configuration.bound, configuration.interval) = (section.bound, section.interval)
        configuration.labels = section.allLabels
        configuration.userAgent = "tidegate/\(settings.version)"
        configuration.proxy = self.transfers.session.proxy
        configuration.tls = ServerTrustPolicy(caFile: section.certificateFile ?? self.transfers.session.tls.caFile)
        let secrets = RemoteWriteSecrets({ section.secrets }) { message in
            logger.warning("remote write keeps its last secrets", metadata: ["error": "\(message)"])
        }
        configuration.secrets = { secrets.current() }
        return configuration
    }
}

extension Configuration.RemoteWrite {
    /// The labels, including the `job` and `instance` that a scrape would add.
    fileprivate var allLabels: [RemoteWriteConfiguration.Label] {
        let named = Set(self.labels.map(\.name))
        let defaults = [("job", "tidegate"), ("instance", HostName.current)].filter { !named.contains($0.0) }
        return self.labels + defaults.map(RemoteWriteConfiguration.Label.init)
    }

    /// The secrets, read on each use so that rotated ones take effect.
    fileprivate var secrets: Result<RemoteWriteConfiguration.Secrets, TaskError> {
        Result { () throws(TaskError) in
            var secrets = RemoteWriteConfiguration.Secrets(headers: self.headers)
            if let user = self.user, let file = self.passwordFile {
                secrets.credentials = Credentials(user: user, password: try Self.secret(in: file))
            }
            if let file = self.tokenFile {
                secrets.headers.append(try Self.bearer(try Self.secret(in: file)))
            }
            return secrets
        }
    }

    private static func bearer(_ token: String) throws(TaskError) -> HTTPField {
        guard HTTPField.isValidValue(token) else {
            throw TaskError(reason: .invalidRequest, underlying: "the token contains a control character")
        }
        return HTTPField(name: .authorization, value: "Bearer \(token)")
    }

    private static func secret(in file: String) throws(TaskError) -> String {
        do { return try TextFile.secret(in: file) } catch {
            throw TaskError(reason: .fileError, underlying: "\(file): \(error)")
        }
    }
}

/// The secrets of remote write, read for each request; if a file does not answer, the previous ones are used.
final class RemoteWriteSecrets: Sendable {
    typealias Secrets = RemoteWriteConfiguration.Secrets

    private let read: @Sendable () -> Result<Secrets, TaskError>
    private let report: @Sendable (String) -> Void
    private let thread: FileThread<Result<Secrets, TaskError>>?
    private let last = Mutex<Secrets?>(nil)
    /// The time limit for reading the files.
    private static let limit = Duration.seconds(1)

    /// Secrets that `read` returns; calls `report` once if a file does not answer.
    init(
        _ read: @escaping @Sendable () -> Result<Secrets, TaskError>, report: @escaping @Sendable (String) -> Void
    ) {
        self.read = read
        self.report = report
        // Without a separate thread, files are read on the caller's thread.
        self.thread = try? FileThread()
    }

    /// The current secrets.
    func current() -> Result<Secrets, TaskError> {
        let message = "a file with its secrets did not answer within \(DurationText(RemoteWriteSecrets.limit))"
        switch self.thread?.answer(within: RemoteWriteSecrets.limit, to: self.read) ?? .value(self.read()) {
        case .value(let result):
            if case .success(let secrets) = result { self.last.withLock { $0 = secrets } }
            return result
        case .late:
            self.report(message)
            fallthrough
        case .busy:
            if let last = self.last.withLock({ $0 }) { return .success(last) }
            return .failure(TaskError(reason: .fileError, underlying: message))
        }
    }
}
