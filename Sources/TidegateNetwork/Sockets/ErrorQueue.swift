internal import CLinux
internal import Glibc
internal import TidegateCore

/// A socket's error queue (IP_RECVERR in ip(7)).
enum ErrorQueue {
    /// Enables ICMP errors; if the kernel does not support them for this socket, outcomes only have less detail.
    static func open(_ descriptor: Int32, _ family: AddressFamily) {
        _ = tg_receive_errors(descriptor, family == .ipv4 ? AF_INET : AF_INET6, 1)
    }

    /// Empties the queue; returns its last error.
    static func drain(_ descriptor: Int32) -> ExtendedSocketError? {
        var last: ExtendedSocketError?
        var control = [UInt8](repeating: 0, count: 256)
        // Bounded, in case errors arrive faster than they are read.
        for _ in 0..<64 {
            let count = tg_take_error(descriptor, &control, control.count)
            guard count >= 0 else { break }
            last = ExtendedSocketError(control: Array(control.prefix(count))) ?? last
        }
        return last
    }
}
