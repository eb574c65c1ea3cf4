internal import Glibc

/// Whether this process or the machine has reached its limit of open files (EMFILE and ENFILE, open(2)), and how much of
/// the limit each use may take.
///
/// The kernel gives out the lowest free number, so the number of a new descriptor shows how many are open.
package enum DescriptorShortage {
    /// The use of a descriptor; the value is how many descriptors of a low limit it leaves to the uses before it.
    package enum Use: Int {
        /// A file that is closed soon; libdispatch ends the process if it cannot open one of /proc.
        case file = 0
        /// A thread's own descriptors.
        case thread = 6
        /// A task, or a packet of a diagnosis.
        case task = 10
        /// A check of a target, or a probe: a diagnosis of their silence needs sockets, too.
        case check = 12
    }

    /// The most descriptors that a sidecar needs for everything but connections.
    package static let base = 112

    /// The limit of this process (RLIMIT_NOFILE, getrlimit(2)).
    package static var limit: Int {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return .max }
        return Int(clamping: limit.rlim_cur)
    }

    /// The descriptor, or -1 with EMFILE in `errno` after closing one that is left to another use.
    package static func bounded(_ descriptor: Int32, _ use: Use) -> Int32 {
        let limit = self.limit
        let eighths = [Use.task: 1, .check: 3][use] ?? 0
        let left = max(use.rawValue, eighths * min((limit - self.base) / 8, 64))
        guard descriptor >= limit - left else { return descriptor }
        close(descriptor)
        errno = EMFILE
        return -1
    }

    /// True if no descriptor is free now.
    ///
    /// Libraries report a shortage as an unknown name or an unreadable certificate: this check identifies it.
    package static func isNow(for use: Use = .file) -> Bool {
        let descriptor = self.bounded(open("/dev/null", O_RDONLY | O_CLOEXEC), use)
        guard descriptor < 0 else {
            close(descriptor)
            return false
        }
        return self.isReason(errno)
    }

    package static func isReason(_ code: Int32) -> Bool { code == EMFILE || code == ENFILE }
}
