internal import Synchronization
internal import TidegateServer
internal import TidegateCore

/// Follows a web configuration file while it is served: what is good counts from the next request on.
final class WebFileSource: AccessPolicyLoader {
    /// What came of another look.
    enum Report: Sendable {
        /// The file has changed, and counts.
        case taken
        /// The file has changed, and what held before still does.
        case refused(ConfigurationError)
    }

    private let path: String
    private let time: any TimeSource
    private let report: @Sendable (Report) -> Void
    private let state: Mutex<State>

    private struct State {
        var access: LoadedAccessPolicy
        var last: WebFile
    }

    /// Follows the file at `path`, beginning with what the `first` look has found.
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
        let (held, last) = self.state.withLock { ($0.access, $0.last) }
        guard !last.isCurrent else { return held }
        let next = WebFile(self.path, at: self.time.wall())
        guard next.contents != last.contents else {
            self.state.withLock { $0.last = next }
            return held
        }
        let access = self.judged(next, after: held)
        self.state.withLock { $0 = State(access: access, last: next) }
        return access
    }

    private func judged(_ next: WebFile, after held: LoadedAccessPolicy) -> LoadedAccessPolicy {
        do throws(ConfigurationError) {
            let access = try next.result.get()
            try self.refuseToOpen(access, after: held)
            self.report(.taken)
            return access
        } catch {
            self.report(.refused(error))
            return held
        }
    }

    // A file that is being written is empty for a moment; nobody gets in because of that.
    private func refuseToOpen(_ access: LoadedAccessPolicy, after held: LoadedAccessPolicy) throws(ConfigurationError) {
        let lost = [
            held.isEncrypted && !access.isEncrypted ? "tls_server_config" : nil,
            held.hasUsers && !access.hasUsers ? "basic_auth_users" : nil,
        ].compactMap(\.self)
        guard !lost.isEmpty else { return }
        throw ConfigurationError(
            lost.map {
                .init(file: self.path, line: nil, key: $0, message: "taking it away needs a restart")
            })
    }
}
