internal import Synchronization
internal import TidegateServer
internal import TidegateCore

/// Reloads a web configuration file when it changes; a valid file applies from the next request on.
final class WebFileSource: AccessPolicyLoader {
    /// The result of a reload.
    enum Report: Sendable {
        /// The file has changed, and applies.
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
        /// True while a file does not answer, once that was reported.
        var isSilent = false
    }

    /// How long files have to answer.
    private static let limit = Duration.seconds(1)

    /// Follows the file at `path`, whose contents at the start are `first`.
    init(
        path: String, first: WebFile, access: LoadedAccessPolicy, time: any TimeSource,
        read: @escaping @Sendable (String, WallTime) -> WebFile = { WebFile($0, at: $1) },
        report: @escaping @Sendable (Report) -> Void
    ) {
        self.path = path
        self.time = time
        // Without a thread of their own, files are read on the caller's.
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

    // The file, read again if it may have changed; nil if it has not, or does not answer.
    private func changed(since last: WebFile) -> WebFile? {
        let (path, time, read) = (self.path, self.time, self.read)
        let look: @Sendable () -> WebFile? = { last.isCurrent ? nil : read(path, time.wall()) }
        switch self.thread?.answer(within: WebFileSource.limit, to: look) ?? .value(look()) {
        case .value(let next):
            let wasSilent = self.state.withLock { state in
                defer { state.isSilent = false }
                return state.isSilent
            }
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

    // A file that is being written is empty for a moment, which must not disable TLS or authentication.
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
