internal import CLinux
internal import CNetlink
internal import Glibc
internal import Synchronization
package import TidegateCore
internal import TidegateLoop

/// Resolves names, at most eight at a time; concurrent requests for a name share one lookup, and answers are cached.
///
/// libcurl and glibc would start a thread for every lookup; here the threads are limited and named `tg-dns-N`.
package final class Resolver: NameResolver {
    /// Looks up a name; blocks.
    package typealias Lookup = @Sendable (String) -> Result<[IPAddress], ResolveFailure>
    /// Looks up a name's addresses of one family; blocks.
    package typealias FamilyLookup = @Sendable (String, AddressFamily) -> Result<[IPAddress], ResolveFailure>

    private let queue: LookupQueue
    private let ttlLookup: TTLLookup?

    /// Creates a resolver that looks up at most `limit` names at a time and caches `capacity` of them.
    ///
    /// An answer is valid for the time to live that `ttlLookup` finds; if it finds none, for `freshness`. A name that
    /// `lookup` does not find within a second is looked up by `familyLookup` as well.
    package init(
        time: any TimeSource, freshness: Duration = DNSTTL.unknown, limit: Int = 8, capacity: Int = 16_384,
        ttlLookup: TTLLookup? = nil, lookup: Lookup? = nil, familyLookup: FamilyLookup? = nil
    ) {
        self.ttlLookup = ttlLookup
        let system: FamilyLookup = { SystemLookup.resolve($0, $1) }
        self.queue = LookupQueue(
            time: time, freshness: freshness, limit: max(1, limit), capacity: max(1, capacity),
            lookup: lookup ?? { SystemLookup.resolve($0) },
            familyLookup: familyLookup ?? (lookup == nil ? system : nil))
    }

    // A thread inside getaddrinfo cannot be interrupted, so nothing waits for it here.
    deinit { self.queue.close() }

    package func resolve(
        _ name: String, completion: @escaping @Sendable (Result<[IPAddress], ResolveFailure>) -> Void
    ) {
        if let address = IPAddress(name) { return completion(.success([address])) }
        self.queue.lookUp(name, completion)
    }

    package func cached(_ name: String) -> [IPAddress]? {
        IPAddress(name).map { [$0] } ?? self.queue.cached(name)
    }

    package func invalidate() {
        self.queue.invalidate()
        self.ttlLookup?.invalidate()
    }

    package func timeToLive(of name: String, completion: @escaping @Sendable (Duration?) -> Void) {
        guard let ttlLookup = self.ttlLookup, let (answer, remaining) = self.queue.cachedAnswer(for: name) else {
            return completion(nil)
        }
        if let remaining { return completion(DNSTTL.clamped(remaining)) }
        ttlLookup.find(name, answer.addresses) { [queue = self.queue] ttl in
            if let ttl { queue.recordTTL(ttl, of: answer, for: name) }
            completion(ttl)
        }
    }
}

/// Cached answers, pending lookups, and the threads that run them.
final class LookupQueue: Sendable {
    typealias Completion = @Sendable (Result<[IPAddress], ResolveFailure>) -> Void

    struct Answer {
        let addresses: [IPAddress]
        fileprivate(set) var expiry: MonotonicTime
        fileprivate let generation: UInt64
        /// Whether the expiry comes from a server's time to live.
        fileprivate(set) var hasTTL = false
    }

    private struct Pending {
        var waiting: [Completion] = []
        /// The generation in which its lookup started; nil while it is queued.
        var generation: UInt64?
    }

    private struct State {
        var answers: [String: Answer] = [:]
        var generation: UInt64 = 0
        var pending: [String: Pending] = [:]
        var queue: [String] = []
        var threads: [LoopThread<Worker>] = []
        var idle: [Int] = []
        var isClosed = false

        func validAnswer(for name: String, at now: MonotonicTime) -> Answer? {
            self.answers[name].flatMap { $0.generation == self.generation && now < $0.expiry ? $0 : nil }
        }

        // A full cache drops the answer that expired first, which was looked up the longest time ago.
        mutating func store(_ answer: Answer, for name: String, limit: Int) {
            if let known = self.answers[name], known.generation > answer.generation { return }
            if self.answers.count >= limit, self.answers[name] == nil,
                let oldest = self.answers.min(by: { $0.value.expiry < $1.value.expiry })?.key
            {
                self.answers[oldest] = nil
            }
            self.answers[name] = answer
        }
    }

    /// What to do after the lock is released.
    private enum Step {
        case answer([IPAddress])
        case fail
        case wait
        case wake(Int, LoopThread<Worker>)
    }

    private let lookup: Resolver.Lookup
    private let time: any TimeSource
    private let freshness: Duration
    private let limit: Int
    private let capacity: Int
    private let familyLookup: Resolver.FamilyLookup?
    private let late: LazyThread<LoopThread<LateLookupLoop>>
    private let state = Mutex(State())

    init(
        time: any TimeSource, freshness: Duration, limit: Int, capacity: Int, lookup: @escaping Resolver.Lookup,
        familyLookup: Resolver.FamilyLookup?
    ) {
        self.time = time
        self.freshness = freshness
        self.limit = limit
        self.capacity = capacity
        self.lookup = lookup
        self.familyLookup = familyLookup
        self.late = LazyThread { try? LoopThread(name: "tg-dns-late", time: time) { LateLookupLoop(loop: $0) } }
    }

    func lookUp(_ name: String, _ completion: @escaping Completion) {
        let now = self.time.monotonic()
        let step = self.state.withLock { state -> Step in
            if let answer = state.validAnswer(for: name, at: now) { return .answer(answer.addresses) }
            guard !state.isClosed else { return .fail }
            return self.enqueue(name, completion, &state)
        }
        switch step {
        case .answer(let addresses): completion(.success(addresses))
        case .fail: completion(.failure(.failed))
        case .wait: break
        case .wake(let worker, let thread): thread.send { self.work(as: worker) }
        }
    }

    private func enqueue(_ name: String, _ completion: @escaping Completion, _ state: inout State) -> Step {
        // A lookup that started before the path changed may take long and return the other network's answer.
        if let known = state.pending[name], known.generation == nil || known.generation == state.generation {
            state.pending[name]?.waiting.append(completion)
            return .wait
        }
        let worker = self.freeWorker(&state)
        // Without a free thread the name waits for a busy one; without any thread it would never be looked up.
        guard !state.threads.isEmpty else { return .fail }
        state.pending[name, default: Pending()].generation = nil
        state.pending[name]?.waiting.append(completion)
        state.queue.append(name)
        return worker.map { .wake($0, state.threads[$0]) } ?? .wait
    }

    func cached(_ name: String) -> [IPAddress]? { self.state.withLock { $0.answers[name]?.addresses } }

    /// The valid answer for a name and its remaining time to live, if known; nil if the name must be looked up.
    func cachedAnswer(for name: String) -> (answer: Answer, remainingTTL: Duration?)? {
        let now = self.time.monotonic()
        let answer = self.state.withLock { $0.validAnswer(for: name, at: now) }
        return answer.map { ($0, $0.hasTTL ? $0.expiry - now : nil) }
    }

    /// Sets an answer's time to live, unless the answer has been replaced since.
    func recordTTL(_ ttl: Duration, of answer: Answer, for name: String) {
        let expiry = self.time.monotonic() + ttl
        self.state.withLock { state in
            guard let known = state.answers[name], known.generation == answer.generation,
                known.addresses == answer.addresses
            else { return }
            state.answers[name]?.expiry = expiry
            state.answers[name]?.hasTTL = true
        }
    }

    // Old answers stay as a last resort for gates; they only stop being valid.
    func invalidate() { self.state.withLock { $0.generation += 1 } }

    func close() {
        let (threads, abandoned) = self.state.withLock { state in
            state.isClosed = true
            let abandoned = state.pending.values.flatMap(\.waiting)
            state.pending = [:]
            state.queue = []
            return (state.threads, abandoned)
        }
        for thread in threads { thread.abandon() }
        self.late.take()?.abandon()
        for completion in abandoned { completion(.failure(.failed)) }
    }

    // Looks names up until the queue is empty.
    private func work(as worker: Int) {
        while let (name, generation) = self.next(for: worker) {
            self.watch(name, startedIn: generation)
            self.finish(name, self.lookup(name), startedIn: generation)
        }
    }

    // A server that answers about one family only holds up the system's lookup of both for 15 s (getaddrinfo(3)).
    private func watch(_ name: String, startedIn generation: UInt64) {
        guard let familyLookup = self.familyLookup, DescriptorShortage.limit >= 512 else { return }
        self.late.thread?.send { [weak self] family in
            guard self?.state.withLock({ $0.pending[name]?.generation == generation }) == true,
                let thread = try? LoopThread<Worker>(name: "tg-dns-\(family)")
            else { return }
            thread.send { [weak self] in
                let result = familyLookup(name, family)
                if case .success = result { self?.finish(name, result, startedIn: generation) }
            }
            thread.abandon()
        }
    }

    // The next name for a worker with the generation of its lookup; nil makes the worker idle.
    private func next(for worker: Int) -> (name: String, generation: UInt64)? {
        self.state.withLock { state in
            guard !state.queue.isEmpty else {
                state.idle.append(worker)
                return nil
            }
            let name = state.queue.removeFirst()
            state.pending[name]?.generation = state.generation
            return (name, state.generation)
        }
    }

    private func finish(_ name: String, _ result: Result<[IPAddress], ResolveFailure>, startedIn generation: UInt64) {
        let expiry = self.time.monotonic() + self.freshness
        let waiting = self.state.withLock { state -> [Completion] in
            if case .success(let addresses) = result {
                state.store(
                    Answer(addresses: addresses, expiry: expiry, generation: generation), for: name,
                    limit: self.capacity)
            }
            // If the name was requested again since a path change, all its completions wait for the newer answer.
            guard state.pending[name]?.generation == generation else { return [] }
            return state.pending.removeValue(forKey: name)?.waiting ?? []
        }
        for completion in waiting { completion(result) }
    }

    // The number of an idle thread; nil if all are busy.
    private func freeWorker(_ state: inout State) -> Int? {
        if let idle = state.idle.popLast() { return idle }
        let number = state.threads.count
        // Few descriptors are better used for connections.
        guard number < self.limit, number < 2 || DescriptorShortage.limit >= 512 else { return nil }
        guard let thread = try? LoopThread<Worker>(name: "tg-dns-\(number + 1)") else { return nil }
        state.threads.append(thread)
        return number
    }
}

/// Asks about each family alone when a lookup of both takes long: IPv4 after a second, IPv6 after two, because an
/// answer without IPv4 leaves no other family to try.
private final class LateLookupLoop: LoopHandler {
    typealias Command = @Sendable (AddressFamily) -> Void

    private let loop: Loop
    private var waiting: [UInt64: Command] = [:]
    private var lastNumber: UInt64 = 0

    init(loop: Loop) { self.loop = loop }

    func receive(_ command: @escaping Command) {
        self.lastNumber += 1
        self.waiting[self.lastNumber] = command
        for second in 0...1 {
            let due = self.loop.timeSourceNow + .seconds(second + 1)
            _ = self.loop.scheduleOnTimeSource(at: due, token: self.lastNumber << 1 | UInt64(second))
        }
    }

    func timerFired(_ token: UInt64) {
        let isFirst = token & 1 == 0
        self.waiting[token >> 1]?(isFirst ? .ipv4 : .ipv6)
        if !isFirst { self.waiting[token >> 1] = nil }
    }
}

/// The system's own resolver: hosts file, name service switch, resolv.conf (getaddrinfo(3)).
enum SystemLookup {
    /// Looks up the addresses of one family, or of both.
    static func resolve(_ name: String, _ family: AddressFamily? = nil) -> Result<[IPAddress], ResolveFailure> {
        var hints = addrinfo()
        hints.ai_family = family.map { $0 == .ipv4 ? AF_INET : AF_INET6 } ?? AF_UNSPEC
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        let code = getaddrinfo(name, nil, &hints, &list)
        guard code == 0 else {
            // This host's, which few name servers know (RFC 6761 6.3).
            guard name.lowercased().hasSuffix(".localhost") else { return .failure(self.failure(code)) }
            return .success([IPAddress(ipv4: 0x7F00_0001), IPAddress("::1")].compactMap(\.self))
        }
        defer { freeaddrinfo(list) }
        var addresses: [IPAddress] = []
        var entry = list
        while let current = entry {
            let name = UnsafeRawBufferPointer(start: current.pointee.ai_addr, count: Int(current.pointee.ai_addrlen))
            if let address = SocketAddress.address(in: Array(name)), !addresses.contains(address) {
                addresses.append(address)
            }
            entry = current.pointee.ai_next
        }
        return addresses.isEmpty ? .failure(.nameNotFound) : .success(addresses)
    }

    // EAI_NODATA (-5) and EAI_ADDRFAMILY (-9) need _GNU_SOURCE.
    private static func failure(_ code: Int32) -> ResolveFailure {
        switch code {
        case EAI_NONAME, -5, -9: .nameNotFound
        case EAI_AGAIN: .timedOut
        default: .failed
        }
    }
}
