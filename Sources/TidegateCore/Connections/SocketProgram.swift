/// A process that has a socket open.
package struct SocketProgram: Sendable, Hashable {
    /// Its number.
    package var pid: Int32
    /// Its name, of 15 bytes at most (comm in proc_pid_comm(5)).
    package var name: String

    /// A process from its parts.
    package init(pid: Int32, name: String) {
        self.pid = pid
        self.name = name
    }
}
