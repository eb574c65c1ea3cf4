internal import CNetlink
package import TidegateCore

extension HostEvidence {
    /// Reads what the kernel shows an unprivileged process of an interface of the calling thread's network namespace.
    ///
    /// What cannot be read is left out; `withHost` reads what is not the interface's as well.
    package static func read(_ interface: String, withHost: Bool = true) -> HostEvidence {
        var evidence = HostEvidence()
        let counters = InterfaceCounters(of: interface)
        (evidence.errors, evidence.packets) = (counters?.errors, counters?.packets)
        evidence.receivedPackets = counters?.receivedPackets
        let netstat = SystemFiles.text("/proc/thread-self/net/netstat") ?? ""
        evidence.misroutedPackets = CounterLine("TcpExt:", in: netstat)["IPReversePathFilter"]
        evidence.readFilters()
        if withHost { evidence.readFiles() }
        guard let index = NetworkInterface.index(of: interface) else { return evidence }
        if let channel = try? QueryChannel(NetlinkOptions()) {
            evidence.add((try? channel.disciplines(of: index)) ?? [])
            let link = (try? channel.link(index)) ?? nil
            evidence.carrierLosses = link?.carrierLosses.map(UInt64.init)
            // Interfaces without a device report a speed that they made up.
            let hasDevice = link.flatMap { SystemFiles.facts(of: $0) }?.hasDevice ?? false
            evidence.readDriver(index, knowsSpeed: hasDevice)
        }
        return evidence
    }

    /// The bytes that wait in an interface's queue now; nil if it has none.
    package static func backlog(of interface: String) -> UInt32? {
        var evidence = HostEvidence()
        guard let index = NetworkInterface.index(of: interface), let channel = try? QueryChannel(NetlinkOptions())
        else { return nil }
        evidence.add((try? channel.disciplines(of: index)) ?? [])
        return evidence.backlogs.first
    }

    mutating func add(_ disciplines: [QueueDiscipline]) {
        guard let root = disciplines.first(where: \.isRoot) else { return }
        self.backlogs = [root.backlog]
        self.drops = disciplines.allSatisfy(\.isFIFO) ? UInt64(root.drops) : nil
    }

    private mutating func readDriver(_ index: UInt32, knowsSpeed: Bool) {
        guard let channel = try? QueryChannel(NetlinkOptions(), protocol: NETLINK_GENERIC) else { return }
        let mode = knowsSpeed ? (try? channel.linkMode(of: index)) ?? nil : nil
        (self.speed, self.isHalfDuplex) = (mode?.speed, mode?.isHalfDuplex ?? false)
        let station = (try? channel.station(of: index)) ?? nil
        (self.signal, self.bitRate) = (station?.signal, station?.bitRate)
        self.sentFrames = station?.sent.map(UInt64.init)
        self.repeatedFrames = station?.repeated.map(UInt64.init)
        self.failedFrames = station?.failed.map(UInt64.init)
    }

    private mutating func readFilters() {
        self.undeliveredPackets = Self.undelivered(SystemFiles.text("/proc/thread-self/net/snmp") ?? "")
        func number(_ name: String) -> UInt64? {
            let text = SystemFiles.text("/proc/sys/net/netfilter/nf_conntrack_\(name)")
            return text.flatMap { UInt64($0.filter(\.isNumber)) }
        }
        (self.trackedConnections, self.trackedLimit) = (number("count"), number("max"))
    }

    private mutating func readFiles() {
        let (snmp, snmp6) = (
            SystemFiles.text("/proc/thread-self/net/snmp"), SystemFiles.text("/proc/thread-self/net/snmp6")
        )
        self.refusedDatagrams = Self.refusedDatagrams(snmp: snmp ?? "", snmp6: snmp6 ?? "")
        self.pressure = Self.pressure(SystemFiles.text("/proc/pressure/cpu") ?? "")
        let groups = Self.controlGroups(SystemFiles.text("/proc/self/cgroup") ?? "")
        let quota = groups.lazy.compactMap { Self.quota(SystemFiles.text("\($0)/cpu.stat") ?? "") }.first
        (self.quotaPeriods, self.throttledPeriods) = (quota?.periods, quota?.throttled)
    }

    /// The folders of this process's control groups that may limit its CPU time, the nearest first, from
    /// /proc/self/cgroup (cgroups(7)).
    ///
    /// In a container the path may be that of the host, while the container's own group is mounted at the root.
    static func controlGroups(_ text: String) -> [String] {
        text.split(separator: "\n").flatMap { line -> [String] in
            let parts = line.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
            guard parts.count == 3, parts[1].isEmpty || parts[1].split(separator: ",").contains("cpu") else {
                return []
            }
            let root = parts[1].isEmpty ? "/sys/fs/cgroup" : "/sys/fs/cgroup/cpu"
            var names = parts[2].split(separator: "/")
            var folders: [String] = []
            while !names.isEmpty {
                folders.append("\(root)/\(names.joined(separator: "/"))")
                names.removeLast()
            }
            return folders + [root]
        }
    }

    /// SndbufErrors of both families, from /proc/net/snmp and snmp6; a kernel without IPv6 has no second file.
    static func refusedDatagrams(snmp: String, snmp6: String) -> UInt64? {
        CounterLine("Udp:", in: snmp)["SndbufErrors"].map {
            $0 + (CounterLine.number("Udp6SndbufErrors", in: snmp6) ?? 0)
        }
    }

    /// The IPv4 packets that came in, without those that were delivered, forwarded, put together or refused.
    static func undelivered(_ snmp: String) -> UInt64? {
        let line = CounterLine("Ip:", in: snmp)
        guard let received = line["InReceives"] else { return nil }
        let gone = ["InDelivers", "ForwDatagrams", "InHdrErrors", "InAddrErrors", "InDiscards", "ReasmReqds"]
        return gone.reduce(received &+ (line["ReasmOKs"] ?? 0)) { $0 &- (line[$1] ?? 0) }
    }

    /// The periods of a quota in cpu.stat; nil without a quota.
    static func quota(_ text: String) -> (periods: UInt64, throttled: UInt64)? {
        guard let periods = CounterLine.number("nr_periods", in: text), periods > 0,
            let throttled = CounterLine.number("nr_throttled", in: text)
        else { return nil }
        return (periods, throttled)
    }

    /// The share of `avg10` in the line `some` of /proc/pressure/cpu, in percent there.
    static func pressure(_ text: String) -> Double? {
        let line = text.split(separator: "\n").first { $0.hasPrefix("some ") }
        let number = line?.split(separator: " ").first { $0.hasPrefix("avg10=") }?.dropFirst("avg10=".count)
        return number.flatMap { Double($0) }.map { $0 / 100 }
    }
}
