internal import Glibc
package import TidegateCore

extension TCPCounters {
    /// The counters of the calling thread's network namespace; nil if they cannot be read.
    package static func read() -> TCPCounters? {
        // A thread's own view: /proc/net is that of the main thread.
        let folder = "/proc/thread-self/net"
        guard let snmp = ProcSysFiles.text("\(folder)/snmp") else { return nil }
        return TCPCounters(snmp: snmp, netstat: ProcSysFiles.text("\(folder)/netstat") ?? "")
    }

    /// From the texts of the two files; nil if the first one has no line of TCP.
    package init?(snmp: String, netstat: String) {
        let (snmp, netstat) = (CounterLines(snmp), CounterLines(netstat))
        guard snmp["Tcp", "ActiveOpens"] != nil else { return nil }
        self.init()
        self.activeOpens = snmp["Tcp", "ActiveOpens"] ?? 0
        self.passiveOpens = snmp["Tcp", "PassiveOpens"] ?? 0
        self.attemptFails = snmp["Tcp", "AttemptFails"] ?? 0
        self.establishedResets = snmp["Tcp", "EstabResets"] ?? 0
        self.sentResets = snmp["Tcp", "OutRsts"] ?? 0
        self.retransmittedSegments = snmp["Tcp", "RetransSegs"] ?? 0
        self.synRetransmits = netstat["TcpExt", "TCPSynRetrans"] ?? 0
        self.timeoutAborts = netstat["TcpExt", "TCPAbortOnTimeout"] ?? 0
        self.closeAborts = netstat["TcpExt", "TCPAbortOnClose"] ?? 0
        self.listenOverflows = netstat["TcpExt", "ListenOverflows"] ?? 0
        self.unreachableMessages = snmp["Icmp", "InDestUnreachs"] ?? 0
    }
}

/// Pairs of lines, the names and then the numbers, as /proc/net/snmp has them.
private struct CounterLines {
    private var values: [String: [Substring: UInt64]] = [:]

    init(_ text: String) {
        var names: [Substring] = []
        for line in text.split(separator: "\n") {
            let fields = line.split(separator: " ")
            guard let head = fields.first, head.last == ":" else { continue }
            // Kernels add names; numbers stand in the same order.
            guard fields.count > 1, fields[1].utf8.first.map({ $0 == 0x2D || (0x30...0x39).contains($0) }) ?? false,
                names.first == head
            else {
                names = fields
                continue
            }
            let pairs = zip(names.dropFirst(), fields.dropFirst()).compactMap { name, number in
                UInt64(number).map { (name, $0) }
            }
            self.values[String(head.dropLast()), default: [:]].merge(pairs) { $1 }
        }
    }

    subscript(_ protocolName: String, _ name: Substring) -> UInt64? { self.values[protocolName]?[name] }
}
