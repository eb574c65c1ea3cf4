internal import Synchronization
internal import TidegateCore
internal import TidegateStore
internal import Tidegate

/// The secrets of remote write, read for each request; those read last where a file does not answer.
final class RemoteWriteSecrets: Sendable {
    typealias Secrets = RemoteWriteConfiguration.Secrets

    private let read: @Sendable () -> Result<Secrets, TaskError>
    private let report: @Sendable (String) -> Void
    private let thread: FileThread<Result<Secrets, TaskError>>?
    private let last = Mutex<Secrets?>(nil)
    /// How long the files have to answer.
    private static let limit = Duration.seconds(1)

    /// Secrets that `read` gives; `report` is told once that a file does not answer.
    init(
        _ read: @escaping @Sendable () -> Result<Secrets, TaskError>, report: @escaping @Sendable (String) -> Void
    ) {
        self.read = read
        self.report = report
        // Without a thread of their own, files are read on the caller's.
        self.thread = try? FileThread()
    }

    /// The secrets now.
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
