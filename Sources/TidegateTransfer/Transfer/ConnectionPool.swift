internal import CCurl
internal import TidegateCore

/// The connections and cached addresses of one network path; a new generation begins when the path has changed.
final class ConnectionPool {
    /// Counted from 1.
    let generation: Int
    /// Outlives ``multi``, whose end calls back into it.
    let callbacks: CurlCallbackContext
    private var multi: MultiHandle?
    /// Transfers added and not yet removed.
    private(set) var running = 0
    /// When libcurl's timer is due; nil for never.
    private(set) var deadline: MonotonicTime?
    var resolveCache = ResolveCache()
    /// True if the watchdog has ended a call whose attempts have not been collected yet.
    var wasCut = false

    init(generation: Int, actions: SocketActions, record: CurlCallRecord) throws(CurlError) {
        self.generation = generation
        self.callbacks = CurlCallbackContext(generation: generation, actions: actions, record: record)
        let multi = try MultiHandle()
        try multi.configure(
            onSocket: socketInterestChanged, onTimer: timerRequested,
            context: Unmanaged.passUnretained(self.callbacks).toOpaque())
        self.multi = consume multi
    }

    /// Starts a transfer.
    func add(_ transfer: CurlTransfer) throws(CurlError) {
        // First, because libcurl may open a socket in the call.
        transfer.pool = self
        do throws(CurlError) {
            try self.multi?.add(transfer.easy)
        } catch {
            transfer.pool = nil
            throw error
        }
        self.running += 1
    }

    /// Ends a transfer as it is; closes its connection unless the response was read to its end.
    func remove(_ transfer: CurlTransfer) throws(CurlError) {
        guard transfer.pool === self else { return }
        transfer.pool = nil
        self.running -= 1
        try self.multi?.remove(transfer.easy)
    }

    /// Runs a transfer again on another connection; nothing of it has been sent yet.
    func restart(_ transfer: CurlTransfer) throws(CurlError) {
        transfer.connection.isGivenUp = false
        transfer.easy.clearErrorMessage()
        try self.multi?.remove(transfer.easy)
        try self.multi?.add(transfer.easy)
    }

    /// A socket is ready.
    func act(on descriptor: Int32, _ events: Int32) throws(CurlError) { try self.multi?.act(on: descriptor, events) }

    /// libcurl's timer is due.
    func timeOut() throws(CurlError) {
        self.deadline = nil
        try self.multi?.timeOut()
    }

    /// The next finished transfer.
    func nextDone() -> (number: Int, code: CURLcode)? { self.multi?.nextDone() }

    /// Closes all connections; the callbacks are called for each.
    func close() {
        self.deadline = nil
        self.multi = nil
    }

    /// Takes libcurl's request for a timer over into ``deadline``.
    func takeTimer(at now: MonotonicTime) {
        switch self.callbacks.timer {
        case .unchanged: return
        case .none: self.deadline = nil
        // libcurl rounds down to milliseconds; too early would only mean to wake twice.
        case .after(let count): self.deadline = count == 0 ? now : now + .milliseconds(count + 1)
        }
        self.callbacks.timer = .unchanged
    }
}

/// A line that an attempt carries to libcurl's cache of addresses.
struct ResolveLease {
    fileprivate let origin: Origin
    fileprivate let number: Int
}

/// Which addresses libcurl's cache has (CURLOPT_RESOLVE).
struct ResolveCache {
    private struct Entry {
        let addresses: [IPAddress]
        let created: MonotonicTime
        let number: Int
        /// Whether libcurl has read a line with these addresses: it does so only when it begins an attempt.
        var isLoaded = false
    }

    private var entries: [Origin: Entry] = [:]
    private var lastNumber = 0

    // libcurl's entries end after 60 s; they are renewed after 30.
    private static let lifetime = Duration.seconds(30)

    /// The CURLOPT_RESOLVE line that an attempt needs, with the lease to confirm once the attempt has begun; nil if
    /// libcurl's cache has these addresses already.
    mutating func line(
        for origin: Origin, _ addresses: [IPAddress], at now: MonotonicTime
    ) -> (line: String, lease: ResolveLease)? {
        guard !addresses.isEmpty, origin.target.address == nil, let port = origin.target.port else { return nil }
        let entry = self.current(origin, addresses, at: now)
        guard !entry.isLoaded else { return nil }
        let list = addresses.map { $0.family == .ipv6 ? "[\($0)]" : "\($0)" }.joined(separator: ",")
        // The + lets the entry end.
        return ("+\(origin.target.host):\(port):\(list)", ResolveLease(origin: origin, number: entry.number))
    }

    private mutating func current(_ origin: Origin, _ addresses: [IPAddress], at now: MonotonicTime) -> Entry {
        if let entry = self.entries[origin], entry.addresses == addresses, now - entry.created < ResolveCache.lifetime {
            return entry
        }
        if self.entries.count >= 512 {
            self.entries = self.entries.filter { now - $0.value.created < ResolveCache.lifetime }
        }
        self.lastNumber += 1
        let entry = Entry(addresses: addresses, created: now, number: self.lastNumber)
        self.entries[origin] = entry
        return entry
    }

    /// The attempt has begun: libcurl has read its line, and keeps it unless another one came since.
    mutating func confirm(_ lease: ResolveLease) {
        if self.entries[lease.origin]?.number == lease.number { self.entries[lease.origin]?.isLoaded = true }
    }
}
