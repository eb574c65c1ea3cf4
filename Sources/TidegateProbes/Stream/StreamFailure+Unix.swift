internal import Glibc
internal import TidegateCore

extension StreamFailure {
    /// Whose failure it is at a Unix socket, where no network is between, and what is wrong (connect(2), unix(7)).
    ///
    /// The server's is everything that its program decides: whether it runs, listens and accepts.
    var atSocket: (party: FaultParty, text: String) {
        guard self.stage == .connect else { return (self.lacksClientCertificate ? .mine : .theirs, self.text) }
        return switch self.errorNumber {
        case ENOENT: (.theirs, "there is no socket of that name: the program that makes it does not run")
        case ECONNREFUSED: (.theirs, "no program listens at the socket")
        case EAGAIN: (.theirs, "the program at the socket accepts no connections, and its backlog is full")
        case EACCES: (.mine, "this user may not write to the socket, or not enter its directory")
        case EPROTOTYPE: (.mine, "the socket is for datagrams, and not for connections")
        case ENOTDIR: (.mine, "a part of the path is no directory")
        case 0 where self.failure == .timedOut: (.theirs, self.text)
        default: (.mine, self.text)
        }
    }
}
