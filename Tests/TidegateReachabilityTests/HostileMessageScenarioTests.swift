internal import Glibc
internal import Synchronization
internal import Testing
internal import TidegateCore
internal import TidegateNetwork
internal import TidegateReachability
internal import TidegateTestKit

/// Messages that are malformed, that mean something else, or that the kernel never sent.
@Suite(.serialized, .enabled(if: VethPairFixture.isPossible, VethPairFixture.need), .timeLimit(.minutes(5)))
struct HostileMessageScenarioTests {
    @Test("Bytes appended to the kernel's messages remove no link and add none", arguments: AncillaryData.all)
    func ancillary(_ ancillary: AncillaryData) async throws {
        let hosts = try VethPairFixture()
        let fixture = MonitorFixture(
            hosts.here, tune: { $0.edit = { $0 == .monitor ? $1 + ancillary.bytes : $1 } })
        _ = await fixture.first()
        try hosts.there.ip("link set p0 down")
        #expect(await fixture.status { $0.global.level == .none }.global.reason == .noCarrier)
        try hosts.there.ip("link set p0 up")
        let status = await fixture.status { $0.global.level == .routed }
        #expect(status.global.level == .routed && status.links.map(\.name) == ["lo", "v0"])
        #expect(fixture.changes(.global).map(\.to.level) == [.none, .routed])
        #expect(fixture.monitor.unavailableReason == nil)
        let isCounted = fixture.netlink.contains { if case .malformed = $0 { true } else { false } }
        #expect(isCounted == ancillary.isMalformed)
    }

    @Test("A malformed answer affects its own lookup only, and takes no time", arguments: Garbling.allCases)
    func garbledAnswer(_ garbling: Garbling) async throws {
        let hosts = try VethPairFixture()
        let isOn = Atomic<Bool>(false)
        let fixture = MonitorFixture(
            hosts.here,
            tune: { options in
                options.edit = { purpose, bytes in
                    guard purpose == .query, isOn.load(ordering: .acquiring), Garbling.isRoute(bytes, to: 198)
                    else { return bytes }
                    return garbling.apply(bytes)
                }
            })
        _ = await fixture.first()
        let (good, bad) = (VerdictRecorder(), VerdictRecorder())
        let watches = [
            fixture.monitor.watch(try Target("8.8.8.8"), sink: good.handler),
            fixture.monitor.watch(try Target("198.51.100.1"), sink: bad.handler),
        ]
        #expect(await eventually { good.levels == [.routed] && bad.levels == [.routed] })
        isOn.store(true, ordering: .releasing)
        let cost = await fixture.monitor.evaluateNow()
        #expect(cost < .seconds(2), "a query that waits for its answer gives up after two seconds")
        #expect(bad.levels == [.routed, .unknown], "an unknown verdict opens the gate")
        #expect(good.levels == [.routed])
        #expect(fixture.monitor.status.global.level == .routed && fixture.monitor.unavailableReason == nil)
        _ = await fixture.monitor.evaluateNow()
        #expect(fixture.netlink.contains { if case .malformed = $0 { true } else { false } })
        isOn.store(false, ordering: .releasing)
        _ = await fixture.monitor.evaluateNow()
        #expect(bad.levels == [.routed, .unknown, .routed] && good.levels == [.routed])
        for watch in watches { watch.cancel() }
    }

    @Test(
        "A dump that is malformed half way is repeated, and the monitor stays available",
        .enabled(if: QuietMachine.isAvailable, "needs a quiet machine"))
    func garbledDump() async throws {
        let hosts = try VethPairFixture()
        let left = Atomic<Int>(0)
        let fixture = MonitorFixture(
            hosts.here,
            tune: { options in
                options.datagramLimit = { $0 == .monitor ? 256 : .max }
                options.edit = { purpose, bytes in
                    guard purpose == .query, bytes.count > 5, bytes[4] == 16, left.load(ordering: .acquiring) > 0
                    else { return bytes }
                    left.subtract(1, ordering: .releasing)
                    return Array(bytes[..<10])
                }
            })
        _ = await fixture.first()
        left.store(2, ordering: .releasing)
        try hosts.here.ip("link set v0 mtu 1400")
        let isHealed = await eventually(within: .milliseconds(1500)) {
            left.load(ordering: .acquiring) == 0 && fixture.monitor.status.health.isConsistent
        }
        #expect(isHealed)
        #expect(fixture.monitor.status.links.map(\.name) == ["lo", "v0"])
        #expect(fixture.changes(.global).isEmpty && fixture.monitor.unavailableReason == nil)
    }

    @Test("A message that another process sent in the kernel's name is ignored")
    func forged() async throws {
        let hosts = try VethPairFixture()
        let descriptor = Atomic<Int32>(-1)
        let fixture = MonitorFixture(
            hosts.here,
            tune: { $0.onOpen = { if $0 == .monitor { descriptor.store($1, ordering: .releasing) } } })
        _ = await fixture.first()
        let port = Self.port(of: descriptor.load(ordering: .acquiring))
        #expect(port != 0)
        let forged = RawMessage.make(17, RawMessage.link())
        let sent = Atomic<Int>(0)
        try hosts.here.inside { sent.store(Self.send(forged, to: port), ordering: .releasing) }
        #expect(sent.load(ordering: .acquiring) == forged.count)
        #expect(await eventually { fixture.netlink.contains { if case .malformed = $0 { true } else { false } } })
        _ = await fixture.monitor.evaluateNow()
        #expect(fixture.received(.dellink) == 0)
        #expect(fixture.monitor.status.global.level == .routed)
        #expect(fixture.monitor.status.links.map(\.name) == ["lo", "v0"])
    }

    // struct sockaddr_nl: the family, padding, the port, the groups.
    private static func port(of descriptor: Int32) -> UInt32 {
        var address = [UInt8](repeating: 0, count: 12)
        var length = socklen_t(12)
        let code = address.withUnsafeMutableBytes { bytes in
            bytes.assumingMemoryBound(to: sockaddr.self).baseAddress.map { getsockname(descriptor, $0, &length) } ?? -1
        }
        guard code == 0 else { return 0 }
        return address[4..<8].reversed().reduce(0) { $0 << 8 | UInt32($1) }
    }

    private static func send(_ message: [UInt8], to port: UInt32) -> Int {
        let descriptor = socket(AF_NETLINK, Int32(SOCK_RAW.rawValue | SOCK_CLOEXEC.rawValue), 0)
        defer { close(descriptor) }
        let address =
            RawMessage.bytes(UInt16(AF_NETLINK)) + [0, 0] + RawMessage.bytes(port) + RawMessage.bytes(UInt32(0))
        return address.withUnsafeBytes { bytes in
            sendto(
                descriptor, message, message.count, 0, bytes.assumingMemoryBound(to: sockaddr.self).baseAddress, 12)
        }
    }
}

/// How the answer to a lookup is corrupted.
enum Garbling: CaseIterable {
    case lyingAttribute, cutHeader, lyingLength, otherNumber, otherType

    /// True for an answer (RTM_NEWROUTE) that names a host of 51.100.1 behind this octet.
    static func isRoute(_ bytes: [UInt8], to octet: UInt8) -> Bool {
        let host = [octet, 51, 100, 1]
        return bytes.count > 32 && bytes[4] == 24
            && bytes.indices.dropLast(3).contains { Array(bytes[$0..<$0 + 4]) == host }
    }

    func apply(_ bytes: [UInt8]) -> [UInt8] {
        var bytes = bytes
        switch self {
        case .lyingAttribute: bytes[28] = 255
        case .cutHeader: bytes = Array(bytes[..<10])
        case .lyingLength: bytes[1] = 16
        case .otherNumber: bytes.replaceSubrange(8..<12, with: [1, 2, 3, 0x7F])
        case .otherType: bytes[4] = 16
        }
        return bytes
    }
}
