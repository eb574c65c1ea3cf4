internal import Glibc
internal import Synchronization
internal import Testing
internal import TidegateCore
internal import TidegateNetwork
internal import TidegateReachability
internal import TidegateTestKit

/// What the monitor does when its own sockets fail.
@Suite(.serialized, .enabled(if: VethPairFixture.isPossible, VethPairFixture.need), .timeLimit(.minutes(5)))
struct SocketFaultTests {
    /// The descriptors that a monitor has opened.
    private final class Sockets: Sendable {
        private let opened = Mutex<[NetlinkOptions.SocketKind: [Int32]]>([:])

        func note(_ purpose: NetlinkOptions.SocketKind, _ descriptor: Int32) {
            self.opened.withLock { $0[purpose, default: []].append(descriptor) }
        }

        func count(_ purpose: NetlinkOptions.SocketKind) -> Int { self.opened.withLock { $0[purpose]?.count ?? 0 } }

        /// Puts /dev/null in a socket's context: nothing announces it, and no other descriptor is hit.
        func kill(_ purpose: NetlinkOptions.SocketKind) {
            guard let descriptor = self.opened.withLock({ $0[purpose]?.last }) else {
                Issue.record("no \(purpose) socket was opened")
                return
            }
            let null = open("/dev/null", O_RDWR | O_CLOEXEC)
            dup2(null, descriptor)
            close(null)
        }
    }

    private func flags(_ bytes: [UInt8], adding flag: UInt8) -> [UInt8] {
        var bytes = bytes
        if bytes.count > 6 { bytes[6] |= flag }
        return bytes
    }

    @Test("A monitor socket that dies without an error is found, opens the gates and is opened again")
    func monitorDies() async throws {
        let hosts = try VethPairFixture()
        let sockets = Sockets()
        let fixture = MonitorFixture(hosts.here, tune: { $0.onOpen = { sockets.note($0, $1) } })
        _ = await fixture.first()
        let gate = VerdictRecorder()
        let watch = fixture.monitor.watch(try Target("8.8.8.8"), sink: gate.handler)
        #expect(await eventually { gate.levels == [.routed] })
        try hosts.there.ip("link set p0 down")
        #expect(await eventually { gate.levels == [.routed, .none] })
        sockets.kill(.monitor)
        _ = await fixture.monitor.evaluateNow()
        #expect(gate.levels.starts(with: [.routed, .none, .unknown]), "an unavailable monitor opens the gates")
        #expect(await eventually { sockets.count(.monitor) == 2 && fixture.monitor.unavailableReason == nil })
        #expect(await eventually { gate.levels == [.routed, .none, .unknown, .none] })
        try hosts.there.ip("link set p0 up")
        #expect(await eventually { gate.levels.last == .routed }, "the new socket receives")
        watch.cancel()
    }

    @Test("A query socket that dies opens the gates, is reported and is opened again", arguments: [true, false])
    func queryDies(isFoundByWatch: Bool) async throws {
        let hosts = try VethPairFixture()
        let sockets = Sockets()
        let fixture = MonitorFixture(hosts.here, tune: { $0.onOpen = { sockets.note($0, $1) } })
        _ = await fixture.first()
        try hosts.here.ip("route add unreachable 198.51.100.0/24")
        let gate = VerdictRecorder()
        let watch = fixture.monitor.watch(try Target("198.51.100.1"), sink: gate.handler)
        #expect(await eventually { gate.levels == [.none] })
        sockets.kill(.query)
        if isFoundByWatch {
            fixture.monitor.watch(try Target("8.8.8.8")) { _ in }.cancel()
        } else {
            _ = await fixture.monitor.evaluateNow()
        }
        #expect(await eventually { gate.levels.starts(with: [.none, .unknown]) })
        #expect(
            await eventually { gate.levels.last == ReachabilityLevel.none && fixture.monitor.unavailableReason == nil })
        let lost = fixture.netlink.count { if case .lost = $0 { true } else { false } }
        #expect(lost == 1)
        watch.cancel()
    }

    @Test("A truncated datagram is counted as a loss, and repaired by a dump")
    func truncated() async throws {
        let hosts = try VethPairFixture()
        let fixture = MonitorFixture(hosts.here, tune: { $0.datagramLimit = { $0 == .monitor ? 256 : .max } })
        _ = await fixture.first()
        try hosts.there.ip("link set p0 down")
        let down = await fixture.status { $0.global.level == .none && $0.health.isConsistent }
        #expect(down.global.reason == .noCarrier)
        #expect(down.health.overruns >= 1 && down.health.resyncs >= 2)
        #expect(fixture.monitor.unavailableReason == nil)
    }

    @Test("A dump whose answer is lost keeps the last verdict, and the next complete one repairs it")
    func lostDump() async throws {
        let hosts = try VethPairFixture()
        let isShort = Atomic<Bool>(false)
        let sockets = Sockets()
        let fixture = MonitorFixture(
            hosts.here,
            tune: { options in
                options.onOpen = { sockets.note($0, $1) }
                options.datagramLimit = { purpose in
                    let isFirst = sockets.count(.query) == 1 && isShort.load(ordering: .relaxed)
                    return purpose == .monitor || isFirst ? 256 : .max
                }
            })
        _ = await fixture.first()
        let gate = VerdictRecorder()
        let watch = fixture.monitor.watch(try Target("8.8.8.8"), sink: gate.handler)
        #expect(await eventually { gate.levels == [.routed] })
        #expect(fixture.monitor.status.health.isConsistent)
        isShort.store(true, ordering: .relaxed)
        try hosts.here.ip("link set v0 mtu 1400")
        #expect(await eventually { sockets.count(.query) >= 2 })
        let healed = await fixture.status { $0.health.isConsistent && $0.global.level == .routed }
        #expect(healed.global.level == .routed)
        #expect(healed.links.map(\.name) == ["lo", "v0"])
        #expect(sockets.count(.query) == 2, "the old socket may still hold the rest of the dump")
        #expect(gate.levels == [.routed])
        watch.cancel()
    }

    @Test("An interrupted dump is tried again, and loses no link that it may have skipped")
    func interrupted() async throws {
        let hosts = try VethPairFixture()
        let left = Atomic<Int>(0)
        let fixture = MonitorFixture(
            hosts.here,
            tune: { options in
                options.datagramLimit = { $0 == .monitor ? 256 : .max }
                options.edit = { purpose, bytes in
                    // RTM_NEWLINK and NLMSG_DONE while the interruption lasts.
                    let type = bytes.count > 5 ? Int(bytes[4]) | Int(bytes[5]) << 8 : 0
                    guard purpose == .query, type == 16, left.load(ordering: .relaxed) > 0 else { return bytes }
                    left.subtract(1, ordering: .relaxed)
                    // Only the first link of the datagram, and the mark NLM_F_DUMP_INTR.
                    let length = Int(bytes[0]) | Int(bytes[1]) << 8
                    return self.flags(Array(bytes[..<length]), adding: 0x10)
                }
            })
        _ = await fixture.first()
        let gate = VerdictRecorder()
        let watch = fixture.monitor.watch(try Target("8.8.8.8"), sink: gate.handler)
        #expect(await eventually { gate.levels == [.routed] })
        left.store(7, ordering: .relaxed)
        try hosts.here.ip("link set v0 mtu 1400")
        let status = await fixture.status { $0.health.interruptedDumps >= 7 && $0.health.isConsistent }
        #expect(status.health.interruptedDumps == 7, "five at once, and two more after a pause")
        #expect(status.health.isConsistent)
        #expect(status.links.map(\.name) == ["lo", "v0"])
        #expect(gate.levels == [.routed], "what a dump skipped is not lost")
        watch.cancel()
    }

    @Test("Port numbers in use do not matter, nor does a second monitor")
    func takenPorts() async throws {
        let hosts = try VethPairFixture()
        // A process of another PID namespace may have this process's number, which libnl would take as its port.
        let held = Mutex<[Int32]>([])
        try hosts.here.inside {
            for _ in 0..<2 {
                let descriptor = socket(AF_NETLINK, Int32(SOCK_RAW.rawValue | SOCK_CLOEXEC.rawValue), 0)
                // struct sockaddr_nl: the family, then the port as the second word.
                var address = [UInt8](repeating: 0, count: 12)
                address[0] = UInt8(AF_NETLINK)
                let port = UInt32(getpid()) + UInt32(held.withLock { $0.count }) << 22
                for context in 0..<4 { address[4 + context] = UInt8(truncatingIfNeeded: port >> (8 * UInt32(context))) }
                _ = address.withUnsafeBytes { bytes in
                    bind(descriptor, bytes.assumingMemoryBound(to: sockaddr.self).baseAddress, 12)
                }
                held.withLock { $0.append(descriptor) }
            }
        }
        let (one, two) = (MonitorFixture(hosts.here), MonitorFixture(hosts.here))
        #expect(await one.first().mode == .event)
        #expect(await two.first().mode == .event)
        try hosts.there.ip("link set p0 down")
        #expect(await one.status { $0.global.level == .none }.global.reason == .noCarrier)
        #expect(await two.status { $0.global.level == .none }.global.reason == .noCarrier)
        for descriptor in held.withLock({ $0 }) { close(descriptor) }
    }
}
