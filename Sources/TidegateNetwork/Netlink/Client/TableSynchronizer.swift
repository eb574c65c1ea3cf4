internal import CNetlink
internal import TidegateCore
internal import TidegateLoop

/// Keeps the tables equal to the kernel's: full dumps, and the changes between them.
final class TableSynchronizer {
    /// What one batch of multicast messages contained.
    struct Counters {
        var counts: [NetlinkEvent.MessageType: Int] = [:]
        var malformed = 0
        var isOverrun = false
        /// The socket no longer works.
        var error: NetlinkError?

        var routeMessages: Int { (self.counts[.newroute] ?? 0) + (self.counts[.delroute] ?? 0) }
    }

    private static let immediateAttempts = 5
    // The two clocks are read one after the other; a real suspend lasts longer than this.
    private static let shortestSuspend = Duration.milliseconds(500)

    private let options: NetlinkOptions
    private let timers: NetlinkTimers
    private(set) var tables = KernelTables()
    private(set) var health = ReachabilityStatus.Health()
    /// True from a loss of messages until the next dump.
    private(set) var isBehind = false
    // Interrupted or lost dumps in a row.
    private var interruptions = 0
    private var suspended: Duration

    init(options: NetlinkOptions, timers: NetlinkTimers) {
        self.options = options
        self.timers = timers
        self.suspended = options.suspended()
    }

    /// Whether the last dump was interrupted or lost.
    var isInterrupted: Bool { self.interruptions > 0 }

    /// True once after the machine was suspended.
    func didSuspend() -> Bool {
        let suspended = self.options.suspended()
        return suspended - exchange(&self.suspended, with: suspended) >= TableSynchronizer.shortestSuspend
    }

    // MARK: Messages

    /// Reads the queued messages into the tables.
    func read(_ monitor: MonitorChannel, malformed: Int, _ changes: inout NetlinkChanges) -> Counters {
        var counters = Counters(malformed: malformed)
        // Bounded, so that timers and commands run during a storm; what is left wakes the thread again.
        reading: for _ in 0..<2048 {
            switch monitor.receive({ self.apply($0, &counters, &changes) }) {
            case .datagram: continue
            case .foreign: counters.malformed += 1
            case .nothing: break reading
            case .overrun, .truncated:
                counters.isOverrun = true
                break reading
            case .failed(let error):
                counters.error = error
                break reading
            }
        }
        for (type, count) in counters.counts { changes.events.append(.received(type, count: count)) }
        if counters.malformed > 0 { changes.events.append(.malformed(count: counters.malformed)) }
        return counters
    }

    private func apply(_ envelope: NetlinkEnvelope, _ counters: inout Counters, _ changes: inout NetlinkChanges) {
        guard let message = envelope.message else {
            counters.malformed += 1
            return
        }
        if case .overrun = message { counters.isOverrun = true }
        if let type = message.multicastType { counters.counts[type, default: 0] += 1 }
        let change = self.tables.apply(message)
        if case .link(let link) = message { self.classify(link.index) }
        changes.isDirty = changes.isDirty || change != .none
        changes.isLoss = changes.isLoss || change == .loss
    }

    private func classify(_ index: UInt32) {
        guard let link = self.tables.link(index), link.kind == .other else { return }
        var facts: LinkFacts?
        let kind = LinkClassifier.kind(of: link) {
            facts = SystemFiles.facts(of: link)
            return facts
        }
        self.tables.classify(index, as: kind, isTether: LinkClassifier.isTether(facts))
    }

    // MARK: Dumps

    /// Dumps links and addresses into new tables.
    ///
    /// An interrupted dump is repeated, first immediately and then after a pause. Throws if the socket is unusable.
    func resync(
        _ query: QueryChannel, _ changes: inout NetlinkChanges, reason: NetlinkEvent.ResyncReason
    ) throws(NetlinkError) {
        let start = SystemClock().monotonic()
        defer {
            let malformed = query.takeMalformedCount()
            if malformed > 0 { changes.events.append(.malformed(count: malformed)) }
        }
        for attempt in 1...TableSynchronizer.immediateAttempts {
            let dump: QueryChannel.Dump
            do throws(QueryFailure) {
                dump = try query.dump()
            } catch {
                guard case .failed(let error) = error else { return try self.dumpWasLost(query, &changes) }
                throw error
            }
            if dump.isInterrupted {
                self.health.interruptedDumps += 1
                changes.events.append(.dumpInterrupted)
                if attempt < TableSynchronizer.immediateAttempts { continue }
            }
            self.adopt(dump.links, dump.addresses, isComplete: !dump.isInterrupted)
            changes.events.append(.resynced(reason, duration: SystemClock().monotonic() - start))
            changes.isDirty = true
            return
        }
    }

    // A lost answer does not end the connection: the old tables stay until a dump is complete.
    private func dumpWasLost(_ query: QueryChannel, _ changes: inout NetlinkChanges) throws(NetlinkError) {
        self.health.overruns += 1
        self.health.isConsistent = false
        changes.events.append(.overrun)
        guard !self.tables.links.isEmpty else {
            throw NetlinkError(operation: "dumping links and addresses", text: "the answer was lost")
        }
        // The kernel still holds the rest of the dump for the old socket.
        try query.reopen()
        self.interruptions += 1
        self.scheduleRepetition()
    }

    private func adopt(_ links: [KernelLink], _ addresses: [KernelAddress], isComplete: Bool) {
        // An interrupted dump may have skipped entries, so a missing entry is not a removed one.
        if isComplete || self.tables.links.isEmpty {
            self.tables.replace(links: links, addresses: addresses)
        } else {
            self.tables.merge(links: links, addresses: addresses)
        }
        for link in links { self.classify(link.index) }
        self.isBehind = false
        self.health.resyncs += 1
        self.health.isConsistent = isComplete
        self.interruptions = isComplete ? 0 : self.interruptions + 1
        if !isComplete, !self.options.isOnce { self.scheduleRepetition() }
    }

    private func scheduleRepetition() {
        let delay = NetlinkTimers.backoff(self.interruptions, from: .milliseconds(50), limit: .seconds(1))
        self.timers.schedule(.resync, after: delay)
    }

    // MARK: State of the sockets

    func didOverrun(_ changes: inout NetlinkChanges) {
        self.countOverrun()
        self.health.isConsistent = false
        self.isBehind = true
        changes.events.append(.overrun)
    }

    /// Counts an overrun that lost no message about links or addresses.
    func countOverrun() { self.health.overruns += 1 }

    func didChangeReceiveBuffer(to bytes: Int, _ changes: inout NetlinkChanges) {
        guard bytes != self.health.receiveBufferBytes else { return }
        self.health.receiveBufferBytes = bytes
        changes.events.append(.receiveBuffer(bytes: bytes))
    }

    /// Keeps the tables, but no longer trusts them.
    func didDisconnect() {
        self.health.isConsistent = false
        self.health.receiveBufferBytes = 0
        self.isBehind = false
    }

    func clear() { self.tables.replace(links: [], addresses: []) }
}

/// The multicast socket.
final class MonitorChannel {
    // The tables depend on these groups; for the others, periodic lookups find the same changes later.
    private static let required = [
        RTNLGRP_LINK.rawValue, RTNLGRP_IPV4_IFADDR.rawValue, RTNLGRP_IPV6_IFADDR.rawValue,
    ]
    private static let routes = [RTNLGRP_IPV4_ROUTE.rawValue, RTNLGRP_IPV6_ROUTE.rawValue]
    private static let others = [
        RTNLGRP_IPV4_RULE.rawValue, RTNLGRP_IPV6_RULE.rawValue, RTNLGRP_NEXTHOP.rawValue,
        RTNLGRP_IPV4_NETCONF.rawValue, RTNLGRP_IPV6_NETCONF.rawValue,
    ]

    private let socket: NetlinkSocket

    init(_ options: NetlinkOptions) throws(NetlinkError) {
        self.socket = try NetlinkSocket.connected(.monitor, options, bufferBytes: options.receiveBufferBytes)
        try self.socket.setNonblocking()
        for group in MonitorChannel.required { try self.socket.join(group) }
        for group in MonitorChannel.others { try? self.socket.join(group) }
        self.joinRoutes()
    }

    var descriptor: Int32 { self.socket.descriptor }
    var receiveBufferBytes: Int { self.socket.receiveBufferBytes }

    func setReceiveBuffer(_ bytes: Int) { self.socket.setReceiveBuffer(bytes) }

    // Without the route groups, only the periodic lookups find changes.
    func joinRoutes() { for group in MonitorChannel.routes { try? self.socket.join(group) } }

    func leaveRoutes() { for group in MonitorChannel.routes { try? self.socket.leave(group) } }

    func receive(_ body: (NetlinkEnvelope) -> Void) -> NetlinkSocket.Received {
        self.socket.receive { MessageDecoder.decode($0, decodesRoutes: false, body) }
    }

    /// Discards what is queued, because a dump will replace it.
    func drain() -> NetlinkSocket.Received {
        // Bounded, in case the kernel fills the queue faster than this empties it.
        for _ in 0..<100_000 {
            switch self.socket.receive({ _ in }) {
            case .datagram, .foreign, .truncated, .overrun: continue
            case .nothing: return .nothing
            case .failed(let error): return .failed(error)
            }
        }
        return .overrun
    }
}
