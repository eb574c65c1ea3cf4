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
    private let report: @Sendable (Report) -> Void
    private let state: Mutex<State>

    private struct State {
        var access: LoadedAccessPolicy
        var last: WebFile
    }

    /// Follows the file at `path`, whose contents at the start are `first`.
    init(
        path: String, first: WebFile, access: LoadedAccessPolicy, time: any TimeSource,
        report: @escaping @Sendable (Report) -> Void
    ) {
        self.path = path
        self.time = time
        self.report = report
        self.state = Mutex(State(access: access, last: first))
    }

    func currentPolicy() -> LoadedAccessPolicy {
        let (current, last) = self.state.withLock { ($0.access, $0.last) }
        guard !last.isCurrent else { return current }
        let next = WebFile(self.path, at: self.time.wall())
        guard next.contents != last.contents else {
            self.state.withLock { $0.last = next }
            return current
        }
        let access = self.validated(next, replacing: current)
        self.state.withLock { $0 = State(access: access, last: next) }
        return access
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
