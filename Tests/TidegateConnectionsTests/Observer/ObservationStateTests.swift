import Testing
import TidegateCore
@testable import TidegateNetwork

@testable import TidegateConnections

/// What follows from reports and routes, without a kernel.
struct ObservationStateTests {
    private static let start = ObservationState.Moment(
        monotonic: MonotonicTime(nanoseconds: 1_000_000_000_000), wall: WallTime(microseconds: 0))

    // A connect that a server refused: one segment came, and nothing was ever acknowledged.
    private static func refused(by address: IPAddress) -> SocketReport {
        var info = TCPInfo()
        info.receivedSegments = 1
        return SocketReport(
            state: .close, local: .init(address: IPAddress(ipv4: 0x0A00_0002), port: 40_000),
            remote: .init(address: address, port: 443), cookie: 7,
            tcp: info)
    }

    @Test("A failure whose route was looked up while the host's paths changed is counted all the same")
    func pathChange() throws {
        var state = ObservationState(ConnectionsConfiguration(), own: OwnSockets())
        let address = IPAddress(ipv4: 0xC633_6402)
        let asked = state.ended(Self.refused(by: address), at: Self.start)
        let isLookedUp = asked.contains { if case .lookUp(address) = $0 { true } else { false } }
        #expect(isLookedUp)
        state.pathChanged(.ipv4, isFirst: false, at: Self.start.monotonic + .milliseconds(1))
        let route = AddressRoute(verdict: Verdict(level: .routed), link: "v0")
        let effects = state.routed(address, route, at: Self.start.monotonic + .milliseconds(2))
        let failed = effects.compactMap { effect -> Remote? in
            if case .publish(.failed(let failure)) = effect { failure.remote } else { nil }
        }
        #expect(failed == [Remote(address, port: 443, .outgoing)])
        #expect(state.recorder.statistics.failures.values.reduce(0, +) == 1)
    }

    // An established connection that a program of this host opened.
    private static let live: SocketReport = {
        var info = TCPInfo()
        (info.sentBytes, info.acknowledgedBytes, info.receivedSegments) = (100, 101, 1)
        return SocketReport(
            state: .established, local: .init(address: IPAddress(ipv4: 0x0A00_0002), port: 40_001),
            remote: .init(address: IPAddress(ipv4: 0xC633_6402), port: 443), cookie: 8, tcp: info)
    }()

    @Test("Lists that are refused do not make live connections new ones")
    func refusedLists() {
        var state = ObservationState(ConnectionsConfiguration(), own: OwnSockets())
        func list(isFirst: Bool) {
            state.begin(.established)
            state.add(Self.live, isFirst: isFirst, at: Self.start)
            _ = state.end(.established, took: .zero, at: Self.start)
        }
        list(isFirst: true)
        for _ in 0..<3 {
            state.begin(.established)
            state.cancel(.established)
        }
        #expect(state.table.count == 1)
        list(isFirst: false)
        #expect(state.observed.connects == 0)
        #expect(state.recorder.statistics.connects.values.reduce(0, +) == 0)
    }

    @Test("What held a connection back between two lists counts for its remote, until it has little to send")
    func limits() throws {
        var state = ObservationState(ConnectionsConfiguration(), own: OwnSockets())
        func list(at seconds: Int, busy: UInt64, peer: UInt64) {
            var report = Self.live
            report.tcp?.busy = busy * 1_000_000
            report.tcp?.limitedByPeer = peer * 1_000_000
            let now = ObservationState.Moment(
                monotonic: Self.start.monotonic + .seconds(seconds), wall: Self.start.wall + .seconds(seconds))
            state.begin(.established)
            state.add(report, isFirst: seconds == 0, at: now)
            _ = state.end(.established, took: .zero, at: now)
        }
        func limit(at seconds: Int = 0) -> FlowLimit? {
            state.remotes.entries.values.first?.limitedBy(at: Self.start.monotonic + .seconds(seconds))
        }
        list(at: 0, busy: 500, peer: 400)
        #expect(limit() == nil, "what happened before the first list counts for nothing")
        list(at: 5, busy: 505, peer: 404)
        #expect(limit() == .remoteWindow)
        let limits = state.recorder.statistics.limits
        #expect(limits[.remoteWindow] == 4000 && limits[.network] == 1000 && limits[.program] == 0)
        list(at: 10, busy: 510, peer: 404)
        #expect(limit() == .network)
        #expect(limit(at: 130) == nil, "the connection has ended")
        for seconds in [60, 110, 170] { list(at: seconds, busy: 510, peer: 404) }
        #expect(limit() == nil)
    }

    @Test("Connections beyond the tracked ones are shown as well, and one of them that hangs is reported once")
    func beyondLimit() throws {
        var configuration = ConnectionsConfiguration()
        configuration.maxTracked = 1
        var state = ObservationState(configuration, own: OwnSockets())
        var second = Self.live
        (second.cookie, second.local.port, second.timer) = (9, 40_002, .retransmission)
        second.tcp?.unacknowledged = 1
        second.tcp?.retransmits = 4
        second.tcp?.retransmissionTimeout = 4_000_000
        func list(isFirst: Bool) -> [ObservationEffect] {
            state.begin(.established)
            state.add(Self.live, isFirst: isFirst, at: Self.start)
            state.add(second, isFirst: isFirst, at: Self.start)
            return state.end(.established, took: .zero, at: Self.start)
        }
        _ = list(isFirst: true)
        let route = AddressRoute(verdict: Verdict(level: .routed), link: "v0")
        var effects = state.routed(second.remote.address, route, at: Self.start.monotonic)
        effects += list(isFirst: false)
        let stalled = effects.compactMap { effect -> Remote? in
            if case .publish(.stalled(let stall)) = effect { stall.remote } else { nil }
        }
        #expect(stalled == [Remote(second.remote.address, port: 443, .outgoing)])
        #expect(state.table.count == 1)
        let traffic = try #require(state.recorder.statistics.traffic[.outgoing])
        #expect(traffic.connections == [.established: 2])
        #expect(traffic.stalled == [.unanswered: 1])
    }

    private static func isLookUp(_ effect: ObservationEffect) -> Bool {
        if case .lookUp = effect { true } else { false }
    }

    @Test("More failures than can wait for their routes are decided all the same")
    func manyFailures() {
        var state = ObservationState(ConnectionsConfiguration(), own: OwnSockets())
        let isLookedUp = (0..<4_100).map { number in
            let address = IPAddress(ipv4: 0xC633_0000 + UInt32(number))
            return state.ended(Self.refused(by: address), at: Self.start).contains(where: Self.isLookUp)
        }
        #expect(isLookedUp == Array(repeating: true, count: 4_096) + Array(repeating: false, count: 4))
        #expect(state.recorder.statistics.failures == [.init(.refused, .theirs): 4])
    }

    @Test("A failure is decided even if its route is not looked up because too many others are")
    func manyRoutes() {
        var state = ObservationState(ConnectionsConfiguration(), own: OwnSockets())
        for number in 0..<8_192 {
            _ = state.routes.needsLookUp(IPAddress(ipv4: 0xC633_0000 + UInt32(number)), at: Self.start.monotonic)
        }
        let effects = state.ended(Self.refused(by: IPAddress(ipv4: 0xC000_0201)), at: Self.start)
        #expect(!effects.contains(where: Self.isLookUp))
        #expect(state.recorder.statistics.failures == [.init(.refused, .theirs): 1])
    }

    // One that has waited for an answer for seven seconds, whose remote repeats what it sent a moment ago: the way there
    // is cut, and the way back is not.
    private static let cut: SocketReport = {
        var report = Self.live
        report.timer = .retransmission
        report.timeLeft = .seconds(1)
        report.sendQueue = 100
        report.tcp?.unacknowledged = 1
        report.tcp?.retransmits = 4
        report.tcp?.retransmissionTimeout = 4_000_000
        report.tcp?.lastDataReceived = 50
        return report
    }()

    @Test("What a remote sends to which nothing comes through is no answer, nor a recovery at the connection's end")
    func cutOneWay() throws {
        var state = ObservationState(ConnectionsConfiguration(), own: OwnSockets())
        var now = Self.start
        func list(_ reports: [SocketReport]) -> [ObservationEffect] {
            state.begin(.established)
            for report in reports { state.add(report, isFirst: false, at: now) }
            let effects = state.end(.established, took: .zero, at: now)
            now = ObservationState.Moment(monotonic: now.monotonic + .seconds(8), wall: now.wall)
            return effects
        }
        let address = Self.cut.remote.address
        _ = list([Self.live])
        _ = list([Self.cut])
        let route = AddressRoute(verdict: Verdict(level: .routed), link: "v0")
        var effects = state.routed(address, route, at: now.monotonic)
        let entry = try #require(state.remotes.entries[Remote(address, port: 443, .outgoing)])
        #expect(entry.isStalled)
        let answered = try #require(entry.answered)
        // A moment before it began to hang.
        #expect(answered < Self.start.monotonic + .seconds(2))
        var ended = Self.cut
        ended.state = .close
        effects += state.ended(ended, at: now)
        effects += list([]) + list([])
        let events = effects.compactMap { effect -> ConnectionEvent? in
            if case .publish(let event) = effect { event } else { nil }
        }
        #expect(events.contains { if case .stalled = $0 { true } else { false } })
        #expect(!events.contains { if case .recovered = $0 { true } else { false } }, "\(events)")
        #expect(state.recorder.statistics.traffic[.outgoing]?.ends == [.lost: 1])
        #expect(state.groups.isIdle)
    }

    @Test("A connect that was given up has the port that a list showed, which the kernel has forgotten")
    func listedPort() {
        var state = ObservationState(ConnectionsConfiguration(), own: OwnSockets())
        state.begin(TCPCounters())
        var connect = SocketReport(
            state: .synSent, local: .init(address: IPAddress(ipv4: 0x0A00_0002), port: 40_003),
            remote: .init(address: IPAddress(ipv4: 0xC633_6407), port: 5432), cookie: 12, tcp: TCPInfo())
        state.begin(.connecting)
        state.add(connect, isFirst: false, at: Self.start)
        _ = state.end(.connecting, took: .zero, at: Self.start)
        (connect.state, connect.remote.port, connect.local.port) = (.close, 0, 0)
        _ = state.ended(connect, at: Self.start)
        _ = state.secondPassed(TCPCounters(), at: Self.start)
        let entry = state.remotes.entries[Remote(IPAddress(ipv4: 0xC633_6407), port: 5432, .outgoing)]
        #expect(entry?.outcomes.counts(at: Self.start.monotonic) == [.refused: 1])
        #expect(state.remotes.entries.count == 1)
    }

    // A connection of this host's that was reset by either side, with an unread byte of data.
    private static func unread(_ cookie: UInt64) -> SocketReport {
        var info = TCPInfo()
        (info.sentBytes, info.acknowledgedBytes, info.receivedDataSegments) = (100, 101, 1)
        var report = SocketReport(
            state: .close, local: .init(address: IPAddress(ipv4: 0x0A00_0002), port: 40_005),
            remote: .init(address: IPAddress(ipv4: 0xC633_6402), port: 443), cookie: cookie, tcp: info)
        report.receiveQueue = 1
        return report
    }

    private static func counters(closeAborts: UInt64) -> TCPCounters {
        var counters = TCPCounters()
        counters.closeAborts = closeAborts
        return counters
    }

    private static func ends(_ state: ObservationState) -> [ConnectionOutcome: UInt64] {
        (state.recorder.statistics.traffic[.outgoing]?.ends ?? [:]).filter { $0.value > 0 }
    }

    @Test("As many connections with unread bytes were aborted as the kernel counted in their second")
    func unread() {
        var state = ObservationState(ConnectionsConfiguration(), own: OwnSockets())
        state.begin(Self.counters(closeAborts: 70))
        for cookie in 1...5 { _ = state.ended(Self.unread(UInt64(cookie)), at: Self.start) }
        #expect(Self.ends(state).isEmpty)
        _ = state.secondPassed(Self.counters(closeAborts: 72), at: Self.start)
        #expect(Self.ends(state) == [.aborted: 2, .reset: 3])
        _ = state.ended(Self.unread(6), at: Self.start)
        _ = state.secondPassed(Self.counters(closeAborts: 72), at: Self.start)
        #expect(Self.ends(state) == [.aborted: 2, .reset: 4])
    }

    @Test("A message may be read a second after its connection was counted, and no later")
    func unreadLater() {
        var state = ObservationState(ConnectionsConfiguration(), own: OwnSockets())
        state.begin(Self.counters(closeAborts: 0))
        _ = state.secondPassed(Self.counters(closeAborts: 1), at: Self.start)
        _ = state.ended(Self.unread(1), at: Self.start)
        _ = state.ended(Self.unread(2), at: Self.start)
        _ = state.secondPassed(Self.counters(closeAborts: 1), at: Self.start)
        #expect(Self.ends(state) == [.aborted: 1, .reset: 1])
        for _ in 0..<2 { _ = state.secondPassed(Self.counters(closeAborts: 2), at: Self.start) }
        _ = state.ended(Self.unread(3), at: Self.start)
        _ = state.secondPassed(Self.counters(closeAborts: 2), at: Self.start)
        #expect(Self.ends(state) == [.aborted: 1, .reset: 2])
    }

    @Test("Without counters an unread byte is this host's, and what was counted before they can be read is nothing")
    func unreadUncounted() {
        var state = ObservationState(ConnectionsConfiguration(), own: OwnSockets())
        _ = state.ended(Self.unread(1), at: Self.start)
        _ = state.secondPassed(nil, at: Self.start)
        #expect(Self.ends(state) == [.aborted: 1])
        _ = state.ended(Self.unread(2), at: Self.start)
        _ = state.secondPassed(Self.counters(closeAborts: 9000), at: Self.start)
        #expect(Self.ends(state) == [.aborted: 1, .reset: 1])
    }

    @Test("A failure is not judged by a route of long ago")
    func oldRoute() {
        var state = ObservationState(ConnectionsConfiguration(), own: OwnSockets())
        let address = IPAddress(ipv4: 0xC633_6402)
        _ = state.ended(Self.refused(by: address), at: Self.start)
        let route = AddressRoute(verdict: Verdict(level: .routed), link: "v0")
        _ = state.routed(address, route, at: Self.start.monotonic)
        #expect(state.recorder.statistics.failures == [.init(.refused, .theirs): 1])
        // The route has gone meanwhile, without a change of the way to the sentinels.
        let later = ObservationState.Moment(monotonic: Self.start.monotonic + .seconds(6), wall: Self.start.wall)
        let effects = state.ended(Self.refused(by: address), at: later)
        #expect(effects.contains(where: Self.isLookUp))
        _ = state.routed(address, AddressRoute(verdict: Verdict(level: .local), link: nil), at: later.monotonic)
        #expect(state.recorder.statistics.failures == [.init(.refused, .theirs): 1, .init(.refused, .mine): 1])
    }

    // A live connection of the user 1000.
    private static func owned(_ cookie: UInt64) -> SocketReport {
        var report = Self.live
        (report.cookie, report.user) = (cookie, 1000)
        return report
    }

    private static func list(_ reports: [SocketReport], in state: inout ObservationState) {
        state.begin(.established)
        for report in reports { state.add(report, isFirst: false, at: Self.start) }
        _ = state.end(.established, took: .zero, at: Self.start)
    }

    // Its kernel's message has no user.
    private static func end(_ report: SocketReport, in state: inout ObservationState) {
        var report = report
        (report.state, report.user) = (.close, nil)
        _ = state.ended(report, at: Self.start)
    }

    private static func live(in state: ObservationState) -> Int {
        (state.recorder.statistics.traffic[.outgoing]?.connections ?? [:]).values.reduce(0, +)
    }

    private static func count(_ outcomes: some Sequence<UInt64>) -> UInt64 { outcomes.reduce(0, +) }

    @Test("A connection that another process announced is left out, listed or not, and its connect is counted as that")
    func announced() {
        var state = ObservationState(ConnectionsConfiguration(), own: OwnSockets())
        for (cookie, user) in [(20, 1000), (21, 0)] as [(UInt64, UInt32)] {
            state.announced.insert(cookie, of: user, at: Self.start.monotonic)
        }
        Self.list([Self.owned(20)], in: &state)
        #expect(Self.live(in: state) == 0)
        for cookie in [20, 21] as [UInt64] { Self.end(Self.owned(cookie), in: &state) }
        #expect(Self.ends(state).isEmpty && state.remotes.entries.isEmpty)
        #expect(Self.count(state.recorder.statistics.connects.values) == 0)
        #expect(state.recorder.statistics.excluded == [.announced: 2])
    }

    @Test("An announcement by another user than the listed one changes nothing, also at the connection's end")
    func forged() {
        var state = ObservationState(ConnectionsConfiguration(), own: OwnSockets())
        state.announced.insert(20, of: 1001, at: Self.start.monotonic)
        Self.list([Self.owned(20)], in: &state)
        #expect(Self.live(in: state) == 1)
        // Its program has closed it, and the kernel has forgotten who that was.
        var closing = Self.owned(20)
        (closing.state, closing.user) = (.finWait1, nil)
        Self.list([closing], in: &state)
        #expect(Self.live(in: state) == 1)
        Self.end(closing, in: &state)
        #expect(Self.count(Self.ends(state).values) == 1)
        #expect(state.recorder.statistics.excluded.isEmpty)
    }

    @Test("Another user's announcement hides no connection that was too short for a list")
    func unlisted() {
        var state = ObservationState(ConnectionsConfiguration(), own: OwnSockets())
        state.announced.insert(20, of: 1000, at: Self.start.monotonic)
        Self.end(Self.owned(20), in: &state)
        #expect(Self.count(Self.ends(state).values) == 1)
        #expect(state.recorder.statistics.excluded.isEmpty)
    }

    @Test("An announcement after the first list takes the connection out, and its connect is counted once")
    func announcedLate() {
        var state = ObservationState(ConnectionsConfiguration(), own: OwnSockets())
        Self.list([Self.owned(20)], in: &state)
        #expect(Self.live(in: state) == 1)
        state.announced.insert(20, of: 1000, at: Self.start.monotonic)
        Self.list([Self.owned(20)], in: &state)
        #expect(Self.live(in: state) == 0)
        Self.end(Self.owned(20), in: &state)
        #expect(Self.ends(state).isEmpty)
        #expect(state.recorder.statistics.connects[.established] == 1)
        #expect(state.recorder.statistics.excluded.isEmpty)
    }

    @Test("Connects that count and those that are left out, for whatever reason, are all that were observed")
    func identity() {
        var configuration = ConnectionsConfiguration()
        configuration.excludedPorts = [444]
        let own = OwnSockets()
        own.insert(30)
        var state = ObservationState(configuration, own: own)
        state.announced.insert(31, of: 1000, at: Self.start.monotonic)
        var (configured, loopback, refused) = (Self.owned(32), Self.owned(33), Self.refused(by: IPAddress(ipv4: 9)))
        configured.remote.port = 444
        loopback.remote.address = IPAddress(ipv4: 0x7F00_0001)
        let live = [Self.owned(30), Self.owned(31), configured, loopback, Self.owned(34)]
        for _ in 0..<2 { Self.list(live, in: &state) }
        // Each once more, too short for a list, and failing connects; one of them is this program's.
        for report in live { Self.end(report, in: &state) }
        state.announced.insert(41, of: 0, at: Self.start.monotonic)
        for cookie in [41, 44] as [UInt64] { Self.end(Self.owned(cookie), in: &state) }
        for cookie in [30, 45] as [UInt64] {
            refused.cookie = cookie
            _ = state.ended(refused, at: Self.start)
        }
        let statistics = state.recorder.statistics
        #expect(statistics.excluded == [.own: 2, .announced: 2, .configuration: 2])
        #expect(statistics.connects.filter { $0.value > 0 } == [.established: 2, .refused: 1])
        #expect(Self.count(statistics.excluded.values) + Self.count(statistics.connects.values) == 9)
        #expect(state.observed.connects == 9)
    }
}
