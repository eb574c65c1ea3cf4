internal import Glibc
internal import TidegateCore
internal import TidegateNetwork

/// Looks up routes and turns the answers into verdicts; owns the snapshot of links and addresses behind them.
final class RouteEvaluator {
    private let source: any RouteSource
    /// The socket properties for lookups of sentinels and targets.
    let context: LookupContext
    /// The addresses that represent the internet, IPv4 first.
    let sentinels: [(family: AddressFamily, addresses: [IPAddress])]
    private let configuredResolvers: [IPAddress]
    private let systemResolvers: @Sendable () -> [IPAddress]
    private var excluded: NamePatterns
    private var metered: NamePatterns
    /// Uses the latest snapshot.
    private(set) var reducer: VerdictReducer
    private var isStale = true
    private var resolvers: [IPAddress] = []
    private var flaps = FlapCounter()
    /// When the routes matched since the last evaluation of the families expire.
    var expiry = RouteExpiry()

    /// Creates an evaluator; `systemResolvers` returns the host's own, and is called if the configuration names none.
    init(
        _ source: any RouteSource, _ configuration: ReachabilityConfiguration,
        systemResolvers: @escaping @Sendable () -> [IPAddress]
    ) {
        self.source = source
        self.context = LookupContext(mark: configuration.mark, uid: configuration.uid)
        self.sentinels = AddressFamily.allCases.map { family in
            let chosen = configuration.sentinels[family] ?? []
            return (family, chosen.isEmpty ? ReachabilityConfiguration.defaultSentinels[family] ?? [] : chosen)
        }
        self.configuredResolvers = configuration.resolvers
        self.systemResolvers = systemResolvers
        self.excluded = NamePatterns(configuration.excludedInterfaces)
        self.metered = NamePatterns(configuration.meteredInterfaces)
        self.reducer = VerdictReducer(NetworkSnapshot(KernelTables(), excluded: &self.excluded))
    }

    // MARK: Snapshot

    /// Records that the kernel's tables have changed.
    func invalidateSnapshot() { self.isStale = true }

    /// Takes a new snapshot if the tables have changed; nil if the last one is still valid.
    func refreshSnapshot(at now: MonotonicTime) -> NetworkSnapshot? {
        guard self.isStale else { return nil }
        self.isStale = false
        let snapshot = NetworkSnapshot(self.source.tables, excluded: &self.excluded)
        let metered = snapshot.links.values.filter { self.metered.match($0.name, or: $0.alternativeNames) }
        self.reducer = VerdictReducer(snapshot, meteredLinks: Set(metered.map(\.index)))
        self.flaps.observe(snapshot.links.values, at: now)
        return snapshot
    }

    /// How long a gain over a path must be stable.
    func debounceTimes(for path: NetworkPath?, at now: MonotonicTime) -> VerdictDebouncer.Times {
        guard let path, let hold = self.flaps.hold(path.index, path.generation, at: now) else { return .usual }
        return .flapping(hold)
    }

    /// Reads the configured resolvers again.
    func readResolvers() {
        self.resolvers = self.configuredResolvers.isEmpty ? self.systemResolvers() : self.configuredResolvers
    }

    // MARK: Families and resolvers

    /// Evaluates families, IPv4 first, by routes alone; nil if the kernel cannot be queried.
    ///
    /// It also returns the best verdict over the resolvers, and the number of lookups.
    func evaluateFamilies() -> (families: [ReachabilityStatus.Family], resolvers: Verdict, lookups: Int)? {
        if self.resolvers.isEmpty { self.readResolvers() }
        // The resolvers' routes decide about targets whose name has no address yet. This process resolves names,
        // whatever user or mark the sockets of tasks have.
        let questions =
            self.sentinels.flatMap(\.addresses).map { self.context.question($0) }
            + self.resolvers.map { RouteQuestion($0) }
        var results: [LookupResult] = []
        self.expiry.reset()
        let isAnswered = self.source.lookUp(questions[...]) { index, lookup in
            results.append(self.result(lookup, of: questions[index].destination))
        }
        guard isAnswered else { return nil }
        let verdicts = zip(self.resolvers, results.suffix(self.resolvers.count)).map {
            AddressVerdict(address: $0, verdict: self.reducer.address($0, $1))
        }
        return (self.families(results), VerdictReducer.best(verdicts) ?? .unknown, questions.count)
    }

    private func families(_ results: [LookupResult]) -> [ReachabilityStatus.Family] {
        var rest = results[...]
        return self.sentinels.map { family, sentinels in
            let own = Array(rest.prefix(sentinels.count))
            rest = rest.dropFirst(sentinels.count)
            var verdict = self.reducer.family(family, own)
            if self.hidesLiveDefault(own, sentinels) { verdict.notes.append(.deadPreferredDefault) }
            return .init(family: family, verdict: verdict)
        }
    }

    // The kernel prefers a dead default route to a live one with a higher metric, which deserves a note.
    private func hidesLiveDefault(_ results: [LookupResult], _ sentinels: [IPAddress]) -> Bool {
        guard case .failed(_, let dead?) = results.first, let sentinel = sentinels.first else { return false }
        let others = self.reducer.snapshot.usableLinks(besides: dead).prefix(8)
        let questions = others.map { self.context.question(sentinel, link: $0) }
        var isLive = false
        _ = self.source.lookUp(questions[...]) { _, lookup in
            if case .routed = self.reducer.evaluate(lookup, of: sentinel) { isLive = true }
        }
        return isLive
    }

    // MARK: Addresses

    /// Looks up routes and passes on the verdict on each address, with its question's index, in order.
    ///
    /// False if the kernel cannot be queried.
    func evaluate(_ questions: [RouteQuestion], _ body: (Int, AddressVerdict) -> Void) -> Bool {
        self.source.lookUp(questions[...]) { index, lookup in
            let address = questions[index].destination
            let verdict = self.reducer.address(address, self.result(lookup, of: address))
            body(index, AddressVerdict(address: address, verdict: verdict))
        }
    }

    /// The route to an address; nil if the kernel cannot be queried.
    func route(to address: IPAddress) -> AddressRoute? {
        var route: AddressRoute?
        _ = self.source.lookUp([self.context.question(address)]) { _, lookup in
            let result = self.result(lookup, of: address)
            let verdict = self.reducer.address(address, result)
            var link = verdict.path?.interface
            if case .failed(_, let dead?) = result { link = self.reducer.snapshot.links[dead]?.name }
            // Without a route the link is unknown; a host with a single link can only mean that one.
            let others = self.reducer.snapshot.links.values.filter { $0.kind != .loopback }
            if link == nil, others.count == 1 { link = others[0].name }
            route = AddressRoute(verdict: verdict, link: link)
        }
        return route
    }

    /// False if the kernel has no route for packets bound to a link, where it would ask that link for any address.
    ///
    /// Packets enter a tunnel without a route.
    func hasRoute(to address: IPAddress, over name: String) -> Bool {
        let link = self.reducer.snapshot.links.values.first { $0.isNamed(name) }
        guard let link, link.kind != .tunnel else { return true }
        var isRefused = false
        _ = self.source.lookUp([self.context.question(address, link: link.index)]) { _, lookup in
            if case .refused(let code, _) = lookup.matched { isRefused = code == EHOSTUNREACH || code == ENETUNREACH }
        }
        return !isRefused
    }

    private func result(_ lookup: RouteLookup, of destination: IPAddress) -> LookupResult {
        let result = self.reducer.evaluate(lookup, of: destination)
        if case .routed(_, _, let expiry?) = result { self.expiry.note(expiry) }
        return result
    }
}

/// The mark and the user of the sockets that lookups represent: rules may route them differently.
struct LookupContext: Hashable {
    var mark: UInt32?
    /// Nil for this process's own user.
    var uid: UInt32?

    /// The lookup for such a socket's packets to an address.
    func question(_ destination: IPAddress, port: UInt16? = nil, link: UInt32? = nil) -> RouteQuestion {
        RouteQuestion(destination, port: port, link: link, mark: self.mark, uid: self.uid)
    }
}

/// The kernel's tables and route lookups, the inputs of verdicts.
protocol RouteSource: AnyObject {
    /// Links and addresses as last read.
    var tables: KernelTables { get }

    /// Looks up routes, and calls `body` with the index and the answer of each question, in order.
    ///
    /// False if the kernel cannot be queried; answers may be missing then.
    func lookUp(_ questions: ArraySlice<RouteQuestion>, _ body: (Int, RouteLookup) -> Void) -> Bool
}

extension NetlinkClient: RouteSource {}

/// Decides when to evaluate because a route expires, which the kernel may not report.
struct RouteExpiry {
    /// The remaining time of the matched route that expires first; nil if none expires.
    private(set) var soonest: Duration?
    // The kernel reports a remaining time below its clock's tick as 0, which otherwise means never.
    private var isUncertain = false

    /// Begins a new evaluation.
    mutating func reset() { self.soonest = nil }

    /// Records the remaining time of a matched route.
    mutating func note(_ expiry: Duration) { self.soonest = min(self.soonest ?? expiry, expiry) }

    /// When to evaluate next; nil if no route expires.
    ///
    /// It is a little later than the expiry, because the kernel rounds to hundredths of a second, and it never causes a
    /// tight loop.
    func deadline(from now: MonotonicTime) -> MonotonicTime? {
        self.soonest.map { now + max($0 + .milliseconds(20), .milliseconds(200)) }
    }

    /// When to evaluate once more after an evaluation at an expiry; nil if ``deadline(from:)`` is enough.
    mutating func confirmation(from now: MonotonicTime) -> MonotonicTime? {
        self.isUncertain = !self.isUncertain && self.soonest == nil
        return self.isUncertain ? now + .milliseconds(100) : nil
    }
}

/// Anchored regular expressions over interface names, with a cache of their results.
struct NamePatterns {
    private let patterns: [Regex<AnyRegexOutput>]
    private var known: [String: Bool] = [:]

    /// Creates patterns that a configuration has already accepted.
    init(_ patterns: [String]) {
        self.patterns = patterns.compactMap { try? Regex($0) }
    }

    /// True if one of the patterns matches a link's name or one of its alternative names.
    mutating func match(_ name: String, or others: [String]) -> Bool {
        if self.match(name) { return true }
        for other in others where self.match(other) { return true }
        return false
    }

    /// True if one of the patterns matches the whole name.
    mutating func match(_ name: String) -> Bool {
        if let answer = self.known[name] { return answer }
        // Names of container links never repeat, so the cache would otherwise grow without bound.
        if self.known.count > 4096 { self.known = [:] }
        let answer = self.patterns.contains { (try? $0.wholeMatch(in: name)) ?? nil != nil }
        self.known[name] = answer
        return answer
    }
}
