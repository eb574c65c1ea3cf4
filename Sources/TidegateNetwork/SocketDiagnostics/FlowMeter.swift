package import TidegateCore
package import TidegateLoop

/// Watches the TCP connections of all programs for a while, without privileges (sock_diag(7)).
///
/// A dedicated thread lists them.
package final class FlowWatch: Sendable {
    private let thread: LoopThread<FlowWatchLoop>

    /// Starts the thread; `onThreadStart` runs on it first, so that tests can enter a namespace.
    package init(onThreadStart: @escaping @Sendable () -> Void = {}) throws(LoopError) {
        self.thread = try LoopThread(name: "tg-flows") { loop in
            onThreadStart()
            return FlowWatchLoop(loop)
        }
    }

    /// Lists the connections, and reads the queue of an interface, every `interval` for `time`.
    ///
    /// `completion` is called once, on the watch's thread, with the connections to other hosts that moved or held data,
    /// and with what this host's side of `interface` showed. On a host with so many connections that lists take long, or
    /// whose kernel refuses them, it gets those listed until then.
    package func watch(
        _ interface: String, every interval: Duration, for time: Duration,
        completion: @escaping @Sendable ([Flow], HostEvidence) -> Void
    ) {
        let request = FlowWatchLoop.Request(
            interface: interface, interval: interval, time: time, completion: completion)
        if !self.thread.send(.watch(request)) { completion([], HostEvidence()) }
    }

    /// Reads what an interface shows now.
    ///
    /// `completion` is called once, on the watch's thread: a driver may answer late.
    package func read(_ interface: String, completion: @escaping @Sendable (HostEvidence) -> Void) {
        if !self.thread.send(.read(interface, completion)) { completion(HostEvidence()) }
    }
}

private final class FlowWatchLoop: LoopHandler {
    struct Request: Sendable {
        let interface: String
        let interval: Duration
        let time: Duration
        let completion: @Sendable ([Flow], HostEvidence) -> Void
    }

    enum Input: Sendable {
        case watch(Request)
        case read(String, @Sendable (HostEvidence) -> Void)
    }

    private struct Watch {
        let request: Request
        let end: MonotonicTime
        var meter = FlowMeter()
        var slowLists = 0
        let before: HostEvidence
        var backlogs: [UInt32] = []
    }

    /// Lists that take longer disturb the measurement beside them; a single one may have been interrupted.
    private static let longestList = Duration.milliseconds(20)
    private static let mostSlowLists = 3
    private static let mostFlows = 64

    private let loop: Loop
    private let channel: SocketDumpChannel?
    private var watches: [UInt64: Watch] = [:]
    private var lastToken: UInt64 = 0

    init(_ loop: Loop) {
        self.loop = loop
        self.channel = try? SocketDumpChannel(NetlinkOptions())
    }

    func receive(_ input: Input) {
        switch input {
        case .read(let interface, let completion): completion(HostEvidence.read(interface, withHost: false))
        case .watch(let request):
            self.lastToken += 1
            let end = self.loop.clock.monotonic() + request.time
            self.watches[self.lastToken] = Watch(
                request: request, end: end, before: HostEvidence.read(request.interface))
            self.timerFired(self.lastToken)
        }
    }

    func ready(_: Int32, for _: Loop.Interest) {}

    func timerFired(_ token: UInt64) {
        guard var watch = self.watches[token] else { return }
        let start = self.loop.clock.monotonic()
        if watch.slowLists < Self.mostSlowLists {
            let isListed = self.list(into: &watch.meter, at: start)
            let isSlow = self.loop.clock.monotonic() - start > Self.longestList
            watch.slowLists = isListed ? watch.slowLists + (isSlow ? 1 : 0) : Self.mostSlowLists
        }
        if let backlog = HostEvidence.backlog(of: watch.request.interface) { watch.backlogs.append(backlog) }
        self.watches[token] = watch
        let next = start + watch.request.interval
        guard next <= watch.end else { return self.finish(token) }
        _ = self.loop.schedule(at: next, token: token)
    }

    func stopping() { for token in Array(self.watches.keys) { self.finish(token) } }

    private func list(into meter: inout FlowMeter, at now: MonotonicTime) -> Bool {
        guard let channel = self.channel else { return false }
        for family in AddressFamily.allCases {
            do throws(NetlinkError) {
                try channel.dump(SocketDump(family, .live, asksForInfo: true)) { report in
                    // Nothing on this host itself is a way.
                    if report.remote.address.isLoopback || report.remote.address == report.local.address { return }
                    meter.add(report, at: now)
                }
            } catch {
                return false
            }
        }
        return true
    }

    private func finish(_ token: UInt64) {
        guard let watch = self.watches.removeValue(forKey: token) else { return }
        var own = HostEvidence.read(watch.request.interface).since(watch.before)
        own.backlogs = watch.backlogs
        watch.request.completion(watch.meter.flows(most: Self.mostFlows, programs: SocketPrograms.byInode), own)
    }
}

/// Follows TCP connections from one list of sockets to the next.
package struct FlowMeter {
    fileprivate struct Entry {
        var flow: Flow
        let start: (time: MonotonicTime, info: TCPInfo)
        var last: TCPInfo
        var inode: UInt32
        var user: UInt32?
    }

    private var entries: [UInt64: Entry] = [:]

    /// Adds a listed connection; its first report only starts the counting.
    package mutating func add(_ report: SocketReport, at now: MonotonicTime) {
        guard let info = report.tcp else { return }
        guard var entry = self.entries.removeValue(forKey: report.cookie) else {
            self.entries[report.cookie] = Entry(
                flow: Flow(to: report.remote.address), start: (now, info), last: info, inode: report.inode,
                user: report.user)
            return
        }
        entry.add(report, info, at: now)
        self.entries[report.cookie] = entry
    }

    /// The connections that moved or held data, those that moved most first, with the programs that have them open.
    ///
    /// `programs` is called once, if there is such a connection.
    package func flows(most: Int, programs: () -> [UInt32: [SocketProgram]]) -> [Flow] {
        func key(_ entry: Entry) -> (UInt64, UInt32) {
            (entry.flow.sentSegments + entry.flow.receivedSegments, entry.inode)
        }
        let moved = self.entries.values.filter(\.isActive)
            .sorted { key($0) > key($1) }.prefix(most)
        let names = moved.isEmpty ? [:] : programs()
        return moved.map { entry in
            var flow = entry.flow
            flow.program =
                names[entry.inode]?.first?.name ?? entry.user.map { "a program of uid \($0)" } ?? "a program"
            return flow
        }
    }
}

extension FlowMeter.Entry {
    fileprivate var isActive: Bool {
        self.flow.sentSegments + self.flow.receivedSegments > 0 || self.flow.busy > .zero || !self.flow.unread.isEmpty
    }

    fileprivate mutating func add(_ report: SocketReport, _ info: TCPInfo, at now: MonotonicTime) {
        let (before, second) = (self.last, now.nanoseconds / 1_000_000_000)
        self.last = info
        self.flow.samples += 1
        self.flow.time = now - self.start.time
        self.flow.sentSegments += UInt64(info.sentDataSegments.growth(since: before.sentDataSegments))
        // From the start: the peer reports later that a segment had arrived.
        let lost = (
            start: self.start.info.lostSegments ?? 0, before: before.lostSegments ?? 0, now: info.lostSegments ?? 0
        )
        self.flow.countsLosses = info.lostSegments != nil
        self.flow.lostSegments = UInt64(lost.now.growth(since: lost.start))
        if lost.now > lost.before { self.flow.lossySeconds.insert(second) }
        self.flow.receivedSegments += UInt64(info.receivedDataSegments.growth(since: before.receivedDataSegments))
        self.flow.earlySegments += UInt64(info.earlySegments.growth(since: before.earlySegments))
        if info.earlySegments > before.earlySegments { self.flow.earlySeconds.insert(second) }
        self.flow.sentBytes += info.acknowledgedBytes.growth(since: before.acknowledgedBytes)
        self.flow.receivedBytes += info.receivedBytes.growth(since: before.receivedBytes)
        self.flow.busy += .microseconds(Int64(clamping: info.busy.growth(since: before.busy)))
        self.flow.limitedByPeer += .microseconds(
            Int64(clamping: info.limitedByPeer.growth(since: before.limitedByPeer)))
        (self.flow.peerWindow, self.flow.segmentSize) = (info.sendWindow, info.sentSegmentSize)
        // Most connections of a busy host are idle.
        guard self.isActive || report.receiveQueue > 0 else { return }
        if let window = info.receiveWindow { self.flow.ownWindows.append(window) }
        self.flow.unread.append(report.receiveQueue)
        self.flow.pauses.append(.milliseconds(Int64(info.lastDataReceived)))
        // The kernel keeps the round trip of the last segment that was acknowledged, however long ago.
        if info.lastDataSent <= 2_000, info.lastAcknowledgement <= info.lastDataSent {
            self.flow.roundTrips.append(.microseconds(Int64(info.roundTrip)))
        }
        self.flow.shortestRoundTrip = info.shortestRoundTrip.map { .microseconds(Int64($0)) }
        if info.receiveRoundTrip > 0 { self.flow.receiveRoundTrip = .microseconds(Int64(info.receiveRoundTrip)) }
    }
}

extension FixedWidthInteger where Self: UnsignedInteger {
    /// The growth since `other`; 0 if it shrank: all counters become 0 when a program aborts its connection.
    package func growth(since other: Self) -> Self { self > other ? self - other : 0 }
}
