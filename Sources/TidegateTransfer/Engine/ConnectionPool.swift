internal import CCurl
internal import TidegateCore

/// One network epoch's connections and addresses.
final class ConnectionPool {
    /// Counted from 1.
    let number: Int
    /// Outlives ``multi``, whose last words it hears.
    let log: CurlCallbackContext
    private var multi: MultiHandle?
    /// Transfers added and not yet removed.
    var running = 0
    /// When libcurl's timer is due; nil for never.
    var deadline: MonotonicTime?
    private var pinned: [Origin: Pin] = [:]

    private var lastTicket = 0

    private struct Pin {
        let addresses: [IPAddress]
        let moment: MonotonicTime
        let ticket: Int
        /// Whether libcurl has read a line with these addresses: it does so only when it begins an attempt.
        var isLoaded = false
    }

    /// A line that an attempt takes with it.
    struct ResolveEntry {
        fileprivate let origin: Origin
        fileprivate let number: Int
    }

    init(number: Int, journal: SocketActions) throws(CurlError) {
        self.number = number
        self.log = CurlCallbackContext(epoch: number, journal: journal)
        let multi = try MultiHandle()
        try multi.configure(telling: self.log)
        self.multi = consume multi
    }

    /// Starts a transfer.
    func add(_ slot: CurlTransfer) throws(CurlError) {
        try self.multi?.add(slot.easy)
        slot.isAdded = true
        self.running += 1
    }

    /// Ends a transfer where it is; closes its connection unless the answer was read to its end.
    func remove(_ slot: CurlTransfer) throws(CurlError) {
        guard slot.isAdded else { return }
        slot.isAdded = false
        self.running -= 1
        try self.multi?.remove(slot.easy)
    }

    /// Tells libcurl that a socket is ready.
    func act(on descriptor: Int32, _ events: Int32) throws(CurlError) { try self.multi?.act(on: descriptor, events) }

    /// Tells libcurl that its timer is due.
    func timeOut() throws(CurlError) {
        self.deadline = nil
        try self.multi?.timeOut()
    }

    /// The next finished transfer.
    func nextDone() -> (slot: Int, code: CURLcode)? { self.multi?.nextDone() }

    /// Closes all connections; the log hears of it.
    func close() {
        self.deadline = nil
        self.multi = nil
    }

    /// The CURLOPT_RESOLVE line that an attempt needs; nil where libcurl's cache has these addresses already.
    ///
    /// The `+` lets an entry end after libcurl's 60 s; it is renewed after 30.
    func resolveLine(for origin: Origin, _ addresses: [IPAddress], at now: MonotonicTime) -> String? {
        guard !addresses.isEmpty, origin.target.address == nil, let port = origin.target.port else { return nil }
        let pin = self.pinned[origin].flatMap { $0.addresses == addresses && now - $0.moment < .seconds(30) ? $0 : nil }
        if let pin, pin.isLoaded { return nil }
        if pin == nil { self.noteLine(for: origin, addresses, at: now) }
        let list = addresses.map { $0.family == .ipv6 ? "[\($0)]" : "\($0)" }.joined(separator: ",")
        return "+\(origin.target.host):\(port):\(list)"
    }

    private func noteLine(for origin: Origin, _ addresses: [IPAddress], at now: MonotonicTime) {
        if self.pinned.count >= 512 { self.pinned = self.pinned.filter { now - $0.value.moment < .seconds(30) } }
        self.lastTicket += 1
        self.pinned[origin] = Pin(addresses: addresses, moment: now, ticket: self.lastTicket)
    }

    /// What an attempt that takes the origin's line with it has to show when it has begun.
    func ticket(for origin: Origin) -> ResolveEntry? {
        self.pinned[origin].map { ResolveEntry(origin: origin, number: $0.ticket) }
    }

    /// An attempt has begun: libcurl has read its line, and keeps it unless another one came since.
    func redeem(_ ticket: ResolveEntry) {
        if self.pinned[ticket.origin]?.ticket == ticket.number { self.pinned[ticket.origin]?.isLoaded = true }
    }

    /// Takes libcurl's wish for a timer over into ``deadline``.
    func takeTimer(at now: MonotonicTime) {
        switch self.log.timer {
        case .unchanged: break
        case .none: self.deadline = nil
        // libcurl rounds down to milliseconds; too early would only mean to wake twice.
        case .after(let count): self.deadline = count == 0 ? now : now + .milliseconds(count + 1)
        }
        self.log.timer = .unchanged
    }
}
