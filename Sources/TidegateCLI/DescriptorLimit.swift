internal import Glibc

/// How many files and sockets the process may have open (RLIMIT_NOFILE, getrlimit(2)).
enum DescriptorLimit {
    /// Raises the soft limit to the hard one.
    ///
    /// Not for commands that start others: those inherit it, and programs with select(2) rely on a low one.
    static func raise() {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return }
        limit.rlim_cur = limit.rlim_max
        // As it was, if the system does not allow it.
        _ = setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    }
}
