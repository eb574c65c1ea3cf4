internal import CNetlink
internal import Glibc
internal import Testing
internal import TidegateCore
internal import TidegateTestKit

@testable internal import TidegateNetwork

/// What the kernel reports of an interface and of this machine, from recorded messages and files.
@Suite struct HostEvidenceTests {
    private static func each<Object>(
        _ datagram: [UInt8], _ decode: (UnsafeMutablePointer<nlmsghdr>) -> Object?
    ) -> [Object] {
        var objects: [Object] = []
        datagram.withUnsafeBytes { bytes in
            _ = MessageDecoder.each(bytes) { message in decode(message).map { objects.append($0) } }
        }
        return objects
    }

    private static func queue(_ datagram: [UInt8], of link: UInt32) -> HostEvidence {
        var evidence = HostEvidence()
        evidence.add(self.each(datagram) { QueueDiscipline($0, of: link) })
        return evidence
    }

    @Test(
        "A full tbf has bytes that wait and dropped packets; filters, other links and links without a queue have none")
    func queues() {
        let full = Self.queue(RecordedMessages.disciplines, of: 3)
        #expect(full.backlogs == [10_420] && full.drops == 48)
        let several = Self.queue(RecordedMessages.disciplines, of: 7)
        #expect(several.backlogs == [0] && several.drops == 0, "mq counts what is below it")
        #expect(Self.queue(RecordedMessages.disciplines, of: 2) == HostEvidence(), "noqueue")
        #expect(Self.queue(RecordedMessages.disciplines, of: 99) == HostEvidence())
        #expect(Self.queue(RecordedMessages.all.flatMap(\.self), of: 77) == HostEvidence())
    }

    // RTM_NEWQDISC as in linux/rtnetlink.h, because the recording kernel has no fq_codel.
    private static func discipline(_ kind: String, parent: UInt32, _ counts: [UInt32]) -> [UInt8] {
        let numbers = [UInt32(0), 77, 1, parent, 1]
        var message = MessageBuilder(36, fixed: numbers.flatMap { MessageBuilder.bytes($0) })
        message.add(1, text: kind)
        var queue = MessageBuilder(0, fixed: [])
        queue.add(3, counts.flatMap { MessageBuilder.bytes($0) })
        message.add(7, Array(queue.bytes.dropFirst(16)))
        return message.bytes
    }

    @Test(
        "Drops of fq_codel are no fault, at the root or below it; what it holds is counted", arguments: [true, false])
    func droppingOnPurpose(isRoot: Bool) {
        let root = Self.discipline(isRoot ? "fq_codel" : "mq", parent: .max, [5, 7000, 90, 0, 0])
        let child = Self.discipline("fq_codel", parent: 0x10001, [5, 7000, 90, 0, 0])
        let evidence = Self.queue(isRoot ? root : root + child, of: 77)
        #expect(evidence.backlogs == [7000] && evidence.drops == nil)
        let fifo = Self.queue(root + Self.discipline("pfifo", parent: 0x10001, [5, 7000, 90, 0, 0]), of: 77)
        #expect(fifo.drops == (isRoot ? nil : 90))
    }

    @Test("Counters that are too short are not read")
    func shortCounters() {
        #expect(Self.queue(Self.discipline("tbf", parent: .max, [5, 7000]), of: 77) == HostEvidence())
    }

    @Test("Speed and duplex are those of the driver; unknown ones are unknown")
    func linkModes() throws {
        let veth = try #require(Self.each(RecordedMessages.linkMode, LinkMode.init).first)
        #expect(veth.speed == 10_000 && !veth.isHalfDuplex)
        func mode(_ speed: UInt32, _ duplex: UInt8) throws -> LinkMode {
            var message = MessageBuilder(21, fixed: [4, 1, 0, 0])
            message.add(5, word: speed)
            message.add(6, [duplex])
            return try #require(Self.each(message.bytes, LinkMode.init).first)
        }
        #expect(try mode(10, 0).isHalfDuplex && mode(10, 0).speed == 10)
        #expect(try mode(.max, 0xFF).speed == nil && !mode(.max, 0xFF).isHalfDuplex)
    }

    /// NL80211_CMD_NEW_STATION, built by linux/nl80211.h: no recording kernel had Wi-Fi.
    private static func station(_ attributes: [(UInt16, [UInt8])]) -> [UInt8] {
        var info = MessageBuilder(0, fixed: [])
        for (type, bytes) in attributes { info.add(type, bytes) }
        var message = MessageBuilder(28, fixed: [19, 1, 0, 0])
        message.add(3, word: 77)
        message.add(6, [2, 0, 0, 0, 0, 1])
        message.add(21 | 0x8000, Array(info.bytes.dropFirst(16)))
        return message.bytes
    }

    @Test("A station has its signal in dBm, what it sent again and gave up, and its bit rate")
    func stations() throws {
        func word(_ number: UInt32) -> [UInt8] { MessageBuilder.bytes(number) }
        var rate = MessageBuilder(0, fixed: [])
        rate.add(5, word(1733))
        let full = Self.station([
            (7, [0xB0]), (13, [0xAF]), (10, word(400)), (11, word(152)), (12, word(3)),
            (8, Array(rate.bytes.dropFirst(16))),
        ])
        let station = try #require(Self.each(full, WirelessStation.init).first)
        #expect(station.signal == -81 && station.bitRate == 173.3)
        #expect(station.sent == 400 && station.repeated == 152 && station.failed == 3)
        let bare = try #require(Self.each(Self.station([(7, [0xC4])]), WirelessStation.init).first)
        #expect(bare.signal == -60 && bare.sent == nil && bare.repeated == nil && bare.bitRate == nil)
    }

    @Test(
        "Damaged messages are decoded without a fault", arguments: [RecordedMessages.disciplines, station([(7, [1])])])
    func damaged(message: [UInt8]) {
        for length in stride(from: 0, to: message.count, by: 3) {
            var cut = Array(message[..<length])
            if length > 4 { cut.replaceSubrange(0..<4, with: MessageBuilder.bytes(UInt32(min(length, 188)))) }
            #expect(Self.queue(cut, of: 3).backlogs.count <= 1)
            _ = Self.each(cut, WirelessStation.init)
            _ = Self.each(cut, LinkMode.init)
        }
    }

    @Test("The control groups of a process are searched from the nearest to the root, in both versions")
    func controlGroups() {
        let unified = HostEvidence.controlGroups("0::/system.slice/tidegate.service\n")
        #expect(
            unified == [
                "/sys/fs/cgroup/system.slice/tidegate.service", "/sys/fs/cgroup/system.slice", "/sys/fs/cgroup",
            ])
        let old = HostEvidence.controlGroups("4:memory:/a\n2:cpuacct,cpu:/docker/b\n")
        #expect(old == ["/sys/fs/cgroup/cpu/docker/b", "/sys/fs/cgroup/cpu/docker", "/sys/fs/cgroup/cpu"])
        #expect(HostEvidence.controlGroups("").isEmpty)
    }

    @Test("A quota is read from cpu.stat, and pressure in the last ten seconds from /proc/pressure/cpu")
    func processor() throws {
        let text = "usage_usec 5\nuser_usec 3\nnr_periods 751\nnr_throttled 475\nthrottled_usec 9\n"
        let quota = try #require(HostEvidence.quota(text))
        #expect(quota.periods == 751 && quota.throttled == 475)
        #expect(HostEvidence.quota("usage_usec 5\nnr_periods 0\nnr_throttled 0\n") == nil, "without a quota")
        let pressure =
            "some avg10=9.25 avg60=0.86 avg300=13.93 total=33\nfull avg10=1.00 avg60=0.00 avg300=0.00 total=0\n"
        #expect(HostEvidence.pressure(pressure) == 0.0925)
        #expect(HostEvidence.pressure("") == nil)
    }

    @Test("Refused datagrams are those of both families")
    func refusedDatagrams() {
        let snmp = "Udp: InDatagrams RcvbufErrors SndbufErrors\nUdp: 7 1 48\n"
        let snmp6 = "Udp6RcvbufErrors                \t9\nUdp6SndbufErrors                \t3\n"
        #expect(HostEvidence.refusedDatagrams(snmp: snmp, snmp6: snmp6) == 51)
        #expect(HostEvidence.refusedDatagrams(snmp: snmp, snmp6: "") == 48)
        #expect(HostEvidence.refusedDatagrams(snmp: "", snmp6: snmp6) == nil)
    }

    @Test("Packets that a filter dropped are those that were not delivered, forwarded, put together or refused")
    func undelivered() {
        let snmp =
            "Ip: Forwarding InReceives InHdrErrors InAddrErrors ForwDatagrams InDiscards InDelivers ReasmReqds ReasmOKs\n"
            + "Ip: 1 100 1 2 10 3 60 8 4\n"
        #expect(HostEvidence.undelivered(snmp) == 20)
        #expect(HostEvidence.undelivered("") == nil)
    }

    @Test("Counters are compared with those before, one that began anew is unknown, and states are those of now")
    func growth() {
        var (before, after) = (HostEvidence(), HostEvidence())
        (before.drops, before.errors, before.sentFrames, before.signal) = (40, 7, 500, -60)
        (after.drops, after.errors, after.packets, after.signal) = (52, 3, 9, -80)
        after.sentFrames = 590
        let grown = after.since(before)
        #expect(grown.drops == 12 && grown.sentFrames == 90 && grown.signal == -80)
        #expect(grown.errors == nil && grown.packets == nil)
    }

    @Test(
        "A real queue is read while it is full, by the evidence and by its readings; the other end has no queue",
        .enabled(if: NetworkNamespace.isAvailable, "network namespaces need root and ip(8)"))
    func live() throws {
        let veth = try VethPairFixture()
        try veth.here.run([
            "tc", "qdisc", "add", "dev", "v0", "root", "tbf", "rate", "8kbit", "burst", "2kb", "limit", "9kb",
        ])
        try veth.here.ip("neigh add 10.0.0.1 lladdr 02:00:00:00:00:01 dev v0")
        let before = try SocketChannelFixture.inside(veth.here) { HostEvidence.read("v0") }
        #expect(before.backlogs.count == 1 && before.drops == 0 && before.carrierLosses != nil, "\(before)")
        try veth.here.run([
            "python3", "-c",
            """
            import socket
            sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            for _ in range(60): sender.sendto(b"x" * 1000, ("10.0.0.1", 9))
            """,
        ])
        let (after, backlog, other) = try SocketChannelFixture.inside(veth.here) {
            (HostEvidence.read("v0").since(before), HostEvidence.backlog(of: "v0"), HostEvidence.read("lo"))
        }
        #expect(after.drops.map { $0 >= 40 } == true && (after.refusedDatagrams ?? 0) >= 40, "\(after)")
        #expect(after.backlogs.first.map { $0 >= 5000 } == true && backlog.map { $0 >= 5000 } == true, "\(after)")
        #expect(after.errors == 0 && after.carrierLosses == 0)
        #expect(after.speed == nil && after.signal == nil, "veth has no device")
        #expect(other.backlogs.isEmpty && other.drops == nil && other.packets != nil)
        let unqueued = try SocketChannelFixture.inside(veth.there) { HostEvidence.backlog(of: "p0") }
        #expect(unqueued == nil)
        let (mode, station) = try SocketChannelFixture.inside(veth.here) {
            let channel = try QueryChannel(NetlinkOptions(), protocol: NETLINK_GENERIC)
            return (try channel.linkMode(of: 77), try channel.station(of: 77))
        }
        #expect(mode?.speed == 10_000 && mode?.isHalfDuplex == false && station == nil)
    }

    @Test("An interface that does not exist has no evidence of its own")
    func missing() {
        let evidence = HostEvidence.read("none")
        #expect(evidence.backlogs.isEmpty && evidence.packets == nil && HostEvidence.backlog(of: "none") == nil)
    }
}
