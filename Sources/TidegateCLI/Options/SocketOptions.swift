internal import ArgumentParser
internal import Glibc
internal import TidegateDaemon
internal import TidegateServer

/// The daemon to connect to.
struct SocketOptions: ParsableArguments {
    @Option(
        name: .customLong("control.socket"),
        help: ArgumentHelp(
            "Control socket of the daemon (default: \(Terminal.defaultPaths.socket)).", valueName: "path"))
    var socket: String?

    @Option(
        name: .customLong("control.user"),
        help: ArgumentHelp("The user whose daemon listens there, besides root and yourself.", valueName: "name"))
    var user: String?

    func validate() throws {
        if self.socket == "" { throw ValidationError("--control.socket: path is empty") }
        if let user, self.owner == nil { throw ValidationError("--control.user: there is no user \"\(user)\"") }
    }

    /// A client of that daemon, which waits so long for a place in its queue.
    func client(timeout: Duration = .seconds(5)) -> ControlClient {
        ControlClient(socket: self.socket ?? Terminal.defaultPaths.socket, timeout: timeout, trusting: self.owner)
    }

    // By name or number, as chown(1) takes it.
    private var owner: UInt32? {
        self.user.flatMap { name in getpwnam(name).map { $0.pointee.pw_uid } ?? UInt32(name) }
    }
}
