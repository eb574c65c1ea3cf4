internal import TidegateCore

/// What one route lookup means.
enum LookupResult: Hashable {
    /// A packet would leave now.
    case routed(NetworkPath, notes: [PathWarning], expiresIn: Duration?)
    /// It would not; `deadLink` is the unusable link that a matching route leads to.
    case failed(UnreachableReason, deadLink: UInt32?)
    /// The kernel did not answer.
    case silent
}

extension UnreachableReason {
    /// The reason behind a refused lookup (errno(3)); nil if it says nothing about the network.
    init?(lookupErrno code: Int32, hasText: Bool, family: AddressFamily) {
        switch code {
        // EPERM, ENOSYS, EOPNOTSUPP: a sandbox that answers no lookups, or a kernel built without IPv6.
        case 1, 38, 95:
            guard family == .ipv6 else { return nil }
            self = .noRoute
        // ENETUNREACH; ESRCH, EAFNOSUPPORT and ENETDOWN mean that something is missing or just being removed.
        case 3, 97, 100, 101: self = .noRoute
        case 99: self = .noSourceAddress
        case 113: self = .routeUnreachable
        case 13: self = .prohibited
        case 22:
            // The kernel explains invalid requests in text, but not a blackhole.
            guard !hasText else { return nil }
            self = .blackholed
        case 19: self = .noSuchInterface
        // ENOMEM, ENOBUFS, EBUSY…: a shortage in the kernel, which closes no gate.
        default: return nil
        }
    }
}
