/// What this host's own side shows: the interface, its queue, its radio link, and the processor.
///
/// Counters are those since they exist, or after ``since(_:)`` what they grew by. Nil is what the kernel, the driver or a
/// container does not show.
package struct HostEvidence: Sendable, Hashable {
    /// The bytes that waited in the interface's queue (tc(8)), at one reading each; empty if it has no queue.
    package var backlogs: [UInt32] = []
    /// Packets that found no room in the queue; nil for queues that also drop packets to keep the delay short.
    package var drops: UInt64?
    /// Datagrams that any queue of this host refused (SndbufErrors of Udp in /proc/net/snmp).
    package var refusedDatagrams: UInt64?
    /// Packets that came in by another link than answers to them would leave by, and were dropped for it
    /// (IPReversePathFilter in /proc/net/netstat).
    package var misroutedPackets: UInt64?
    /// The IPv4 packets that arrived, and were neither delivered nor forwarded: a filter dropped them (RFC 4293).
    package var undeliveredPackets: UInt64?
    /// The entries of the kernel's table of connections (nf_conntrack-sysctl).
    package var trackedConnections: UInt64?
    /// How many entries it takes.
    package var trackedLimit: UInt64?
    /// Damaged frames, and those that could not be sent.
    package var errors: UInt64?
    /// Packets in both directions.
    package var packets: UInt64?
    /// Packets that came in.
    package var receivedPackets: UInt64?
    /// How often the interface lost its carrier.
    package var carrierLosses: UInt64?
    /// In Mbit/s; nil for interfaces without hardware, which make it up.
    package var speed: Int?
    package var isHalfDuplex = false
    /// How strongly a Wi-Fi station receives its access point, in dBm.
    package var signal: Int?
    /// At which a Wi-Fi station sends, in Mbit/s.
    package var bitRate: Double?
    /// Frames that a Wi-Fi station sent.
    package var sentFrames: UInt64?
    /// How often it sent one of them again.
    package var repeatedFrames: UInt64?
    /// Frames that it gave up.
    package var failedFrames: UInt64?
    /// The periods in which this control group could run, if it has a CPU quota (cpu.stat in cgroups(7)).
    package var quotaPeriods: UInt64?
    /// Those of them in which the quota was used up.
    package var throttledPeriods: UInt64?
    /// The share of the last ten seconds in which some process waited for a processor (/proc/pressure/cpu in proc(5)).
    package var pressure: Double?

    /// Nothing is known.
    package init() {}

    private static var counters: [WritableKeyPath<Self, UInt64?>] {
        [
            \.drops, \.refusedDatagrams, \.misroutedPackets, \.undeliveredPackets, \.errors, \.packets,
            \.receivedPackets, \.carrierLosses,
            \.sentFrames,
            \.repeatedFrames,
            \.failedFrames, \.quotaPeriods, \.throttledPeriods,
        ]
    }

    /// A copy with what the counters grew by; nil for one that began anew.
    package func since(_ before: Self) -> Self {
        var grown = self
        for counter in Self.counters {
            guard let now = self[keyPath: counter], let then = before[keyPath: counter], now >= then else {
                grown[keyPath: counter] = nil
                continue
            }
            grown[keyPath: counter] = now - then
        }
        return grown
    }

    /// A copy with the growth of an earlier time as well.
    func adding(_ earlier: Self) -> Self {
        var sum = self
        sum.backlogs = earlier.backlogs + self.backlogs
        for counter in Self.counters {
            let parts = [self[keyPath: counter], earlier[keyPath: counter]].compactMap(\.self)
            sum[keyPath: counter] = parts.isEmpty ? nil : parts.reduce(0, &+)
        }
        return sum
    }

    /// The member `link` of the sidecar's `quality`: what it shows now; counters are in the metrics.
    func json(of interface: String) -> JSONValue {
        let all: JSONValue = [
            "interface": .string(interface), "queueBytes": .optional(self.backlogs.last),
            "speedMbit": .optional(self.speed), "halfDuplex": self.isHalfDuplex ? true : .null,
            "signalDbm": .optional(self.signal), "bitRateMbit": .optional(self.bitRate),
        ]
        return all.withoutNulls
    }

    /// The member `link` of a measurement's `quality`: what is known.
    var json: JSONValue {
        let all: JSONValue = [
            "queueBytes": .optional(self.backlogs.max()), "queueDrops": .optional(self.drops),
            "refusedDatagrams": .optional(self.refusedDatagrams), "errors": .optional(self.errors),
            "packets": .optional(self.packets), "carrierLosses": .optional(self.carrierLosses),
            "speedMbit": .optional(self.speed), "halfDuplex": self.isHalfDuplex ? true : .null,
            "signalDbm": .optional(self.signal), "bitRateMbit": .optional(self.bitRate),
            "sentFrames": .optional(self.sentFrames), "repeatedFrames": .optional(self.repeatedFrames),
            "failedFrames": .optional(self.failedFrames), "quotaPeriods": .optional(self.quotaPeriods),
            "throttledPeriods": .optional(self.throttledPeriods), "cpuPressure": .optional(self.pressure),
        ]
        return all.withoutNulls
    }
}
