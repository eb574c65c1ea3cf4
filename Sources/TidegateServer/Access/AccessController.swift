internal import Glibc
internal import NIOCore
internal import NIOPosix
internal import Synchronization
internal import TidegateCore

/// Decides about requests by the policy in force.
///
/// Policy files are read on one thread and passwords are hashed on another, one at a time: a client that guesses
/// passwords keeps at most one processor busy, and users whose password has been verified do not wait for it.
final class AccessController: Sendable {
    /// How many passwords wait for their hash at a time; about a second's work at bcrypt's usual cost.
    static let maxWaitingHashes = 16

    private let loader: any AccessPolicyLoader
    private let time: any TimeSource
    private let files = NIOThreadPool(numberOfThreads: 1)
    private let hashing = NIOThreadPool(numberOfThreads: 1)
    private let authenticator = MessageAuthenticator()
    private let state = Mutex(State())

    private struct State {
        var bucket: TokenBucket?
        /// The authentication code of each user's verified password: the password itself is not kept.
        var verified: [String: [UInt8]] = [:]
        var waiting = 0
    }

    init(_ loader: any AccessPolicyLoader, time: any TimeSource) {
        self.loader = loader
        self.time = time
    }

    func start() {
        self.files.start()
        self.hashing.start()
        // Hashing runs at low priority.
        self.hashing.submit { _ in _ = setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, 10) }
    }

    /// Does not wait for running hashes; bcrypt can take seconds.
    func stop() {
        let pools = [self.files, self.hashing]
        Task { for pool in pools { try? await pool.shutdownGracefully() } }
    }

    /// The policy in force, for a new connection.
    func currentPolicy(on loop: any EventLoop) -> EventLoopFuture<LoadedAccessPolicy> {
        let loader = self.loader
        return self.files.runIfActive(eventLoop: loop) { loader.currentPolicy() }
    }

    /// Decides about a request with this `Authorization` header.
    func decision(authorization: String?) async -> AuthorizationDecision {
        let loader = self.loader
        guard let policy = try? await self.files.runIfActive({ loader.currentPolicy() }) else {
            return AuthorizationDecision(denial: .busy)
        }
        if let wait = self.wait(for: policy.rate) {
            return AuthorizationDecision(headers: policy.headers, denial: .rateLimited(retryAfter: wait))
        }
        let denial = policy.users.isEmpty ? nil : await self.denial(of: authorization, users: policy.users)
        return AuthorizationDecision(headers: policy.headers, denial: denial)
    }

    private func wait(for rate: RateLimit?) -> Duration? {
        let now = self.time.monotonic()
        return self.state.withLock { state in
            if state.bucket?.limit != rate { state.bucket = rate.map { TokenBucket($0, at: now) } }
            return state.bucket?.take(at: now)
        }
    }

    // MARK: - Passwords

    private func denial(of authorization: String?, users: UserTable) async -> AuthorizationDecision.Denial? {
        guard let credentials = authorization.flatMap(BasicCredentials.init) else { return .unauthenticated }
        let work = users.work(for: credentials.user)
        let code = self.code(of: credentials, work)
        if self.isVerified(credentials.user, code) { return nil }
        guard self.beginHash() else { return .busy }
        defer { self.endHash() }
        let isRight = try? await self.hashing.runIfActive {
            // Another request may have verified the same password while this one waited.
            guard !self.isVerified(credentials.user, code) else { return true }
            guard work.verify(credentials.password) else { return false }
            self.state.withLock { $0.verified[credentials.user] = code }
            return true
        }
        switch isRight {
        case true?: return nil
        case false?: return .unauthenticated
        case nil: return .busy
        }
    }

    // The hash is part of the message: once a password is changed, the old one is not accepted from memory.
    private func code(of credentials: BasicCredentials, _ work: HashWork) -> [UInt8]? {
        self.authenticator.code(
            for: Array(credentials.user.utf8) + [0] + Array(work.hash.text.utf8) + [0] + credentials.password)
    }

    private func isVerified(_ user: String, _ code: [UInt8]?) -> Bool {
        guard let code, let verified = self.state.withLock({ $0.verified[user] }) else { return false }
        return MessageAuthenticator.isSame(verified, code)
    }

    private func beginHash() -> Bool {
        self.state.withLock { state in
            guard state.waiting < AccessController.maxWaitingHashes else { return false }
            state.waiting += 1
            return true
        }
    }

    private func endHash() { self.state.withLock { $0.waiting -= 1 } }
}
