internal import Glibc
internal import NIOCore
internal import NIOPosix
internal import Synchronization
internal import TidegateCore

/// Decides who is answered, by the policy of the moment.
///
/// Files are read on a thread of their own, and passwords are checked on another, one at a time: whoever guesses
/// passwords keeps one processor busy at most, and those who are known already do not wait for him.
final class AccessController: Sendable {
    /// How many passwords wait for their check at a time; it is about a second's work at the usual cost.
    static let patience = 16

    private let source: any AccessSource
    private let time: any TimeSource
    private let files = NIOThreadPool(numberOfThreads: 1)
    private let hashing = NIOThreadPool(numberOfThreads: 1)
    private let authenticator = MessageAuthenticator()
    private let state = Mutex(State())

    private struct State {
        var bucket: RateBucket?
        /// What tells the right password of a user again, without being one.
        var known: [String: [UInt8]] = [:]
        var waiting = 0
    }

    init(_ source: any AccessSource, time: any TimeSource) {
        self.source = source
        self.time = time
    }

    func start() {
        self.files.start()
        self.hashing.start()
        // Whoever has something better to do than hashing comes first.
        self.hashing.submit { _ in _ = setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, 10) }
    }

    /// Nobody is waited for: a password may take long.
    func stop() {
        let pools = [self.files, self.hashing]
        Task { for pool in pools { try? await pool.shutdownGracefully() } }
    }

    /// The policy of the moment, for a connection.
    func access(on loop: any EventLoop) -> EventLoopFuture<Access> {
        let source = self.source
        return self.files.runIfActive(eventLoop: loop) { source.current() }
    }

    /// What becomes of a request with this `Authorization` header.
    func admission(of authorization: String?) async -> AuthorizationDecision {
        let source = self.source
        guard let access = try? await self.files.runIfActive({ source.current() }) else {
            return AuthorizationDecision(refusal: .busy)
        }
        if let wait = self.wait(for: access.rate) {
            return AuthorizationDecision(headers: access.headers, refusal: .tooSoon(wait))
        }
        let refusal = access.users.isEmpty ? nil : await self.refusal(of: authorization, users: access.users)
        return AuthorizationDecision(headers: access.headers, refusal: refusal)
    }

    private func wait(for rate: RateLimit?) -> Duration? {
        let now = self.time.monotonic()
        return self.state.withLock { state in
            if state.bucket?.limit != rate { state.bucket = rate.map { RateBucket($0, at: now) } }
            return state.bucket?.take(at: now)
        }
    }

    // MARK: - Passwords

    private func refusal(of authorization: String?, users: UserTable) async -> AuthorizationDecision.Refusal? {
        guard let credentials = authorization.flatMap(BasicCredentials.init) else { return .unauthorized }
        let work = users.work(for: credentials.user)
        let mark = self.mark(of: credentials, work)
        if self.isKnown(credentials.user, mark) { return nil }
        guard self.enter() else { return .busy }
        defer { self.leave() }
        let isRight = try? await self.hashing.runIfActive {
            // Somebody may have come with the same password a moment earlier.
            guard !self.isKnown(credentials.user, mark) else { return true }
            guard work.isDone(with: credentials.password) else { return false }
            self.state.withLock { $0.known[credentials.user] = mark }
            return true
        }
        switch isRight {
        case true?: return nil
        case false?: return .unauthorized
        case nil: return .busy
        }
    }

    // The hash is part of it: a password that is changed is not known any more.
    private func mark(of credentials: BasicCredentials, _ work: UserTable.Work) -> [UInt8]? {
        self.authenticator.code(
            for: Array(credentials.user.utf8) + [0] + Array(work.hash.text.utf8) + [0] + credentials.password)
    }

    private func isKnown(_ user: String, _ mark: [UInt8]?) -> Bool {
        guard let mark, let known = self.state.withLock({ $0.known[user] }) else { return false }
        return MessageAuthenticator.isSame(known, mark)
    }

    private func enter() -> Bool {
        self.state.withLock { state in
            guard state.waiting < AccessController.patience else { return false }
            state.waiting += 1
            return true
        }
    }

    private func leave() { self.state.withLock { $0.waiting -= 1 } }
}
