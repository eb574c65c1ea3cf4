internal import Glibc
internal import TidegateCore

/// Whether the limit of open files (RLIMIT_NOFILE, getrlimit(2)) allows what the configuration does.
struct DescriptorCheck {
    let limit: Int
    let needed: Int

    // The journal, the log, netlink, resolvers and each thread's own.
    private static let base = 64

    /// What a limit means for so many connections of servers and clients.
    init(limit: Int, listeners: Int, connectionsEach: Int, transfers: Int) {
        self.limit = limit
        self.needed = Self.base + listeners * connectionsEach + transfers
    }

    /// A sentence without a final full stop; nil if there are enough.
    var warning: String? {
        guard self.limit < self.needed else { return nil }
        return "only \(self.limit) files and sockets may be open, and up to \(self.needed) can be needed: tasks and "
            + "connections will wait; raise LimitNOFILE= in the unit, or ulimit -n"
    }

    /// The limit of this process.
    static var currentLimit: Int {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return .max }
        return Int(clamping: limit.rlim_cur)
    }
}
