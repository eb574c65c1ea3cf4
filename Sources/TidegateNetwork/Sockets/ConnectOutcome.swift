internal import Glibc
package import TidegateCore

/// How an attempt to connect ended.
package enum ConnectOutcome: Sendable, Hashable {
    /// The other side accepted, after this long.
    case connected(Duration)
    /// It did not come to a connection: why, and who refused with an ICMP error where somebody did.
    case failed(UnreachableReason, refusal: ICMPError?)
}

extension UnreachableReason {
    /// The reason behind a failed connect(2) (errno(3)).
    init(connectErrno code: Int32) {
        self =
            switch code {
            case ECONNREFUSED, ECONNRESET: .refused
            case ENETUNREACH, ENETDOWN, EAFNOSUPPORT: .noRoute
            case EACCES, EPERM: .prohibited
            case EINVAL: .blackholed
            case EADDRNOTAVAIL: .noSourceAddress
            case ETIMEDOUT: .timeout
            // This process or host ran out of something; the other side was not asked.
            case EMFILE, ENFILE, ENOBUFS, ENOMEM: .monitorDown
            default: .hostUnreachable
            }
    }
}
