internal import HTTPTypes
internal import Hummingbird
internal import NIOCore
internal import NIOPosix
internal import Synchronization
internal import TidegateCore

/// Decides about requests by the current policy.
///
/// One thread reads policy files, and another hashes passwords one at a time. So a client that guesses passwords keeps
/// at most one processor busy, and users with a verified password do not wait for it. Peers take turns, and peers that
/// have sent a right password go first, so that clients that guess cannot lock others out.
final class AccessController: Sendable {
    /// How many passwords may wait for their hash: at bcrypt's usual cost, the last one waits as long as a scrape may.
    static let maxWaitingHashes = 128
    /// How many of these one peer may have; about a second's work.
    static let maxWaitingHashesOfPeer = 16
    /// How many peers with a right password are remembered.
    private static let maxVerifiedPeers = 1024

    private let loader: any AccessPolicyLoader
    private let time: any TimeSource
    private let files = NIOThreadPool(numberOfThreads: 1)
    private let hashing = NIOThreadPool(numberOfThreads: 1)
    private let authenticator = MessageAuthenticator()
    private let state = Mutex(State())

    private struct State {
        var buckets: PeerBuckets?
        /// The authentication code of each user's verified password; the password itself is not kept.
        var verified: [String: [UInt8]] = [:]
        /// The peers that have sent a right password.
        var verifiedPeers: Set<PeerAddress> = []
        var waiting = FairQueue<WaitingPassword>(
            limit: AccessController.maxWaitingHashes, limitOfPeer: AccessController.maxWaitingHashesOfPeer)
    }

    private struct WaitingPassword {
        let credentials: BasicCredentials
        let peer: PeerAddress
        let work: HashWork
        let code: [UInt8]?
        /// Receives whether the password is right; nil if it was not verified.
        let answer: CheckedContinuation<Bool?, Never>
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

    /// Does not wait for hashes in progress, because bcrypt can take seconds.
    func stop() {
        let pools = [self.files, self.hashing]
        Task { for pool in pools { try? await pool.shutdownGracefully() } }
    }

    /// The current policy, for a new connection.
    func currentPolicy(on loop: any EventLoop) -> EventLoopFuture<LoadedAccessPolicy> {
        let loader = self.loader
        return self.files.runIfActive(eventLoop: loop) { loader.currentPolicy() }
    }

    /// The decision about a request from a peer with this `Authorization` header.
    func decision(authorization: String?, peer: PeerAddress) async -> AuthorizationDecision {
        let loader = self.loader
        guard let policy = try? await self.files.runIfActive({ loader.currentPolicy() }) else {
            return AuthorizationDecision(denial: .busy)
        }
        if let wait = self.wait(of: peer, for: policy.rate) {
            return AuthorizationDecision(headers: policy.headers, denial: .rateLimited(retryAfter: wait))
        }
        let denial = policy.users.isEmpty ? nil : await self.denial(of: authorization, from: peer, users: policy.users)
        return AuthorizationDecision(
            headers: policy.headers, denial: denial, isAuthenticated: denial == nil && policy.authenticates)
    }

    private func wait(of peer: PeerAddress, for rate: RateLimit?) -> Duration? {
        let now = self.time.monotonic()
        return self.state.withLock { state in
            if state.buckets?.limit != rate { state.buckets = rate.map(PeerBuckets.init) }
            return state.buckets?.take(for: peer, at: now)
        }
    }

    // MARK: - Passwords

    private func denial(
        of authorization: String?, from peer: PeerAddress, users: UserTable
    ) async -> AuthorizationDecision.Denial? {
        guard let credentials = authorization.flatMap(BasicCredentials.init) else { return .unauthenticated }
        let work = users.work(for: credentials.user)
        let code = self.code(of: credentials, work)
        if self.isVerified(credentials.user, code) { return nil }
        let isRight = await withCheckedContinuation { answer in
            let waiting = WaitingPassword(
                credentials: credentials, peer: peer, work: work, code: code, answer: answer)
            let dropped = self.state.withLock {
                $0.waiting.add(waiting, for: peer, isPreferred: $0.verifiedPeers.contains(peer))
            }
            dropped?.answer.resume(returning: nil)
            // One turn of the thread for each password; a dropped password leaves an empty turn.
            self.hashing.submit { self.verifyNext(isActive: $0 == .active) }
        }
        switch isRight {
        case true?: return nil
        case false?: return .unauthenticated
        case nil: return .busy
        }
    }

    private func verifyNext(isActive: Bool) {
        guard let next = self.state.withLock({ $0.waiting.next() }) else { return }
        next.answer.resume(returning: isActive ? self.verify(next) : nil)
    }

    private func verify(_ waiting: WaitingPassword) -> Bool {
        // Another request may have verified the same password in the meantime.
        guard !self.isVerified(waiting.credentials.user, waiting.code) else { return true }
        guard waiting.work.verify(waiting.credentials.password) else { return false }
        self.state.withLock { state in
            state.verified[waiting.credentials.user] = waiting.code
            if state.verifiedPeers.count >= Self.maxVerifiedPeers { state.verifiedPeers.removeFirst() }
            state.verifiedPeers.insert(waiting.peer)
        }
        return true
    }

    // The hash is part of the message, so a changed password invalidates the stored code of the old one.
    private func code(of credentials: BasicCredentials, _ work: HashWork) -> [UInt8]? {
        self.authenticator.code(
            for: Array(credentials.user.utf8) + [0] + Array(work.hash.text.utf8) + [0] + credentials.password)
    }

    private func isVerified(_ user: String, _ code: [UInt8]?) -> Bool {
        guard let code, let verified = self.state.withLock({ $0.verified[user] }) else { return false }
        return MessageAuthenticator.isSame(verified, code)
    }
}

/// Whether a request is allowed, and the header fields of its response.
struct AuthorizationDecision: Sendable {
    /// Why a request is denied.
    enum Denial: Sendable, Hashable {
        /// Requests arrive too fast; the next one is allowed after this time.
        case rateLimited(retryAfter: Duration)
        /// The request has no credentials, or wrong ones.
        case unauthenticated
        /// Too many passwords are waiting to be hashed.
        case busy
    }

    /// Header fields of the response.
    var headers: [HTTPField] = []
    /// Why the request is denied; nil if it is allowed.
    var denial: Denial?
    /// True if the policy requires the client to authenticate, and it has.
    var isAuthenticated = false

    /// The response to a denied request; nil if it is allowed.
    var problem: Response? {
        switch self.denial {
        case nil: return nil
        case .rateLimited(let wait):
            let seconds = wait.components.seconds + (wait.components.attoseconds > 0 ? 1 : 0)
            return .problem(
                .tooManyRequests, "Too many requests.", headers: [.retryAfter: String(max(1, seconds))])
        case .unauthenticated:
            let challenge = "Basic realm=\"tidegate\", charset=\"UTF-8\""
            return .problem(.unauthorized, "Authentication required.", headers: [.wwwAuthenticate: challenge])
        case .busy: return .unavailable("Too many passwords to verify.", retryAfter: 1)
        }
    }
}

/// Forwards requests that the access policy allows, and adds the policy's header fields to every response.
struct AccessMiddleware: RouterMiddleware {
    let controller: AccessController

    func handle(_ request: Request, context: ServerContext, next: NextHandler) async throws -> Response {
        let decision = await self.controller.decision(
            authorization: request.headers[.authorization], peer: PeerAddress(context.channel.remoteAddress))
        var response: Response
        if let problem = decision.problem {
            response = problem
        } else {
            var context = context
            context.isAuthenticated = decision.isAuthenticated
            response = try await next(request, context)
        }
        for header in decision.headers { response.headers[header.name] = header.value }
        return response
    }
}

/// A token bucket: each request takes a token, and one is added per interval.
struct TokenBucket: Sendable, Hashable {
    let limit: RateLimit
    // When the bucket is full again.
    private(set) var fullAt: MonotonicTime

    /// True if no token is missing.
    func isFull(at now: MonotonicTime) -> Bool { self.fullAt <= now }

    /// Takes a token.
    ///
    /// - Returns: nil if there was a token, otherwise the time until the next one.
    mutating func take(at now: MonotonicTime) -> Duration? {
        let missing = max(self.fullAt - now, .zero)
        let wait = missing + self.limit.interval - self.limit.interval * self.limit.burst
        guard wait <= .zero else { return wait }
        self.fullAt = now + (missing + self.limit.interval)
        return nil
    }
}

/// A bucket of tokens for each peer.
struct PeerBuckets: Sendable {
    /// The limit of each peer.
    let limit: RateLimit
    private var buckets: [PeerAddress: TokenBucket] = [:]

    // Further peers share one bucket, so that the table is bounded.
    static let maxPeers = 1024

    init(_ limit: RateLimit) { self.limit = limit }

    /// Takes a token from the peer's bucket.
    ///
    /// - Returns: nil if there was a token, otherwise the time until the next one.
    mutating func take(for peer: PeerAddress, at now: MonotonicTime) -> Duration? {
        if self.buckets[peer] == nil, self.buckets.count >= Self.maxPeers {
            self.buckets = self.buckets.filter { !$0.value.isFull(at: now) }
        }
        let isKnown = self.buckets[peer] != nil || self.buckets.count < Self.maxPeers
        return self.buckets[isKnown ? peer : PeerAddress(ip: nil), default: TokenBucket(limit: self.limit, fullAt: now)]
            .take(at: now)
    }
}

/// A bounded queue in which peers take turns.
struct FairQueue<Element: Sendable>: Sendable {
    private let limit: Int
    private let limitOfPeer: Int
    // In the order of the turns; a peer without elements is absent.
    private var lines: [(peer: PeerAddress, elements: [Element])] = []

    /// A queue of at most `limit` elements, and at most `limitOfPeer` of one peer.
    init(limit: Int, limitOfPeer: Int) { (self.limit, self.limitOfPeer) = (limit, limitOfPeer) }

    /// The number of waiting elements.
    var count: Int { self.lines.reduce(0) { $0 + $1.elements.count } }

    /// Adds an element at the end of its peer's line; the new line of a preferred peer gets the turn after the next.
    ///
    /// - Returns: The element without a place: the last one of the longest line, or this one.
    mutating func add(_ element: Element, for peer: PeerAddress, isPreferred: Bool = false) -> Element? {
        let own = self.lines.firstIndex { $0.peer == peer }
        let length = own.map(self.length) ?? 0
        guard length < self.limitOfPeer else { return element }
        var dropped: Element?
        if self.count >= self.limit {
            // The last element of the longest line, because the earlier ones have waited longer.
            guard let longest = self.lines.indices.reversed().max(by: { self.length($0) < self.length($1) }),
                self.length(longest) > length + (isPreferred ? 0 : 1)
            else { return element }
            dropped = self.lines[longest].elements.popLast()
            if self.lines[longest].elements.isEmpty { self.lines.remove(at: longest) }
        }
        if let own {
            self.lines[own].elements.append(element)
        } else {
            self.lines.insert((peer, [element]), at: isPreferred ? min(1, self.lines.endIndex) : self.lines.endIndex)
        }
        return dropped
    }

    /// Removes the next element; each peer provides one per turn.
    mutating func next() -> Element? {
        guard !self.lines.isEmpty else { return nil }
        var line = self.lines.removeFirst()
        let element = line.elements.removeFirst()
        if !line.elements.isEmpty { self.lines.append(line) }
        return element
    }

    private func length(_ index: Int) -> Int { self.lines[index].elements.count }
}
