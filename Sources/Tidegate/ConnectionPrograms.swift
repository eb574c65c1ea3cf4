package import TidegateCore
internal import TidegateNetwork

/// The processes that have connections to remotes now, as far as this process may see them.
package struct ConnectionPrograms: Sendable {
    private var found: [Remote: [SocketProgram]] = [:]

    /// Lists the live connections of this network namespace, and the descriptors of its processes.
    ///
    /// - Throws: What the kernel or a sandbox refuses, in one clause.
    package init() throws(TextError) {
        let byInode = SocketPrograms.byInode()
        do throws(NetlinkError) {
            let channel = try SocketDumpChannel(NetlinkOptions())
            for family in AddressFamily.allCases {
                try channel.dump(SocketDump(family, [.connecting, .live])) { self.add($0, byInode) }
            }
        } catch {
            throw TextError("\(error)")
        }
    }

    // Who opened it is the report's knowledge: a connection has one of the two remotes.
    private mutating func add(_ report: SocketReport, _ byInode: [UInt32: [SocketProgram]]) {
        guard let programs = byInode[report.inode] else { return }
        let address = report.remote.address.withoutZone
        for remote in [
            Remote(address, port: report.remote.port, .outgoing), Remote(address, port: report.local.port, .incoming),
        ] {
            let known = self.found[remote] ?? []
            self.found[remote] = known + programs.filter { !known.contains($0) }
        }
    }

    /// Those with connections to a remote, by their numbers; empty if there are none, or none that may be seen.
    package func programs(of remote: Remote) -> [SocketProgram] {
        let found = self.found[Remote(remote.address.withoutZone, port: remote.port, remote.direction)] ?? []
        return found.sorted { $0.pid < $1.pid }
    }
}
