package import TidegateCore

/// The processes that have sockets open.
package enum SocketPrograms {
    /// The processes by socket inode, as far as this process may read their descriptors (proc_pid_fd(5)): those of its
    /// own user, or all with CAP_SYS_PTRACE.
    ///
    /// It reads every descriptor of every process: suitable for a waiting user, not for a daemon's loop.
    package static func byInode() -> [UInt32: [SocketProgram]] {
        var programs: [UInt32: [SocketProgram]] = [:]
        for pid in SystemFiles.names(in: "/proc").compactMap(Int32.init).sorted() {
            let inodes = self.inodes(in: "/proc/\(pid)/fd")
            guard !inodes.isEmpty else { continue }
            let name = SystemFiles.text("/proc/\(pid)/comm") ?? ""
            let program = SocketProgram(pid: pid, name: String(name.dropLast()))
            for inode in inodes { programs[inode, default: []].append(program) }
        }
        return programs
    }

    /// The inodes of this process's own sockets.
    package static func ownInodes() -> Set<UInt32> { self.inodes(in: "/proc/self/fd") }

    // A socket's link reads `socket:[INODE]`. A process may have a socket open more than once.
    private static func inodes(in folder: String) -> Set<UInt32> {
        let targets = SystemFiles.names(in: folder).compactMap { SystemFiles.target(of: "\(folder)/\($0)") }
        return Set(
            targets.compactMap { target in
                guard target.hasPrefix("socket:["), target.hasSuffix("]") else { return nil }
                return UInt32(target.dropFirst("socket:[".count).dropLast())
            })
    }
}

extension TCPCounters {
    /// The counters of the calling thread's network namespace; nil if they cannot be read.
    package static func read() -> TCPCounters? {
        // The thread's own view: /proc/net is that of the main thread.
        let folder = "/proc/thread-self/net"
        guard let snmp = SystemFiles.text("\(folder)/snmp") else { return nil }
        return TCPCounters(
            snmp: snmp, netstat: SystemFiles.text("\(folder)/netstat") ?? "",
            snmp6: SystemFiles.text("\(folder)/snmp6") ?? "")
    }

    /// Parses the texts of the files; nil if the first one has no TCP line.
    ///
    /// A kernel without IPv6 has no third file.
    package init?(snmp: String, netstat: String, snmp6: String = "") {
        let (tcp, icmp) = (CounterLine("Tcp:", in: snmp), CounterLine("Icmp:", in: snmp))
        let more = CounterLine("TcpExt:", in: netstat)
        guard let activeOpens = tcp["ActiveOpens"] else { return nil }
        self.init()
        self.activeOpens = activeOpens
        self.established = tcp["CurrEstab"] ?? 0
        self.passiveOpens = tcp["PassiveOpens"] ?? 0
        self.attemptFails = tcp["AttemptFails"] ?? 0
        self.establishedResets = tcp["EstabResets"] ?? 0
        self.sentResets = tcp["OutRsts"] ?? 0
        self.retransmittedSegments = tcp["RetransSegs"] ?? 0
        self.synRetransmits = more["TCPSynRetrans"] ?? 0
        self.timeoutAborts = more["TCPAbortOnTimeout"] ?? 0
        self.closeAborts = more["TCPAbortOnClose"] ?? 0
        self.listenOverflows = more["ListenOverflows"] ?? 0
        self.unreachableMessages =
            (icmp["InDestUnreachs"] ?? 0) + (CounterLine.number("Icmp6InDestUnreachs", in: snmp6) ?? 0)
    }
}

/// A pair of lines of one protocol, names and numbers, in the format of /proc/net/snmp.
///
/// Both files are read every second and have some 200 names, so the names are compared as bytes, and only in the
/// requested lines.
struct CounterLine {
    private var names: [Substring.UTF8View] = []
    private var numbers: [Substring.UTF8View] = []

    init(_ head: String, in text: String) {
        let lines = text.utf8.split(separator: UInt8(ascii: "\n")).filter { $0.starts(with: head.utf8) }
        guard lines.count == 2 else { return }
        // Kernels add names; the numbers are in the same order.
        self.names = lines[0].split(separator: UInt8(ascii: " "))
        self.numbers = lines[1].split(separator: UInt8(ascii: " "))
    }

    /// A number in a file of lines with one name and its number, such as /proc/net/snmp6; nil without that name.
    static func number(_ name: String, in text: String) -> UInt64? {
        let lines = text.utf8.split(separator: UInt8(ascii: "\n")).lazy.filter { $0.starts(with: name.utf8) }
        let parts = lines.map { $0.split { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") } }
        return parts.first { $0.count == 2 && $0[0].count == name.utf8.count }.flatMap { UInt64(Substring($0[1])) }
    }

    subscript(_ name: String) -> UInt64? {
        let name = name.utf8
        let position = self.names.firstIndex { $0.count == name.count && $0.elementsEqual(name) }
        guard let position, position < self.numbers.count else { return nil }
        return UInt64(Substring(self.numbers[position]))
    }
}
