internal import CLinux
internal import Glibc
internal import TidegateCore

/// A socket's error queue (IP_RECVERR in ip(7)).
enum ErrorQueue {
    /// Asks for ICMP errors; without them, on a kernel that has none for this socket, there is only less to tell.
    static func open(_ descriptor: Int32, _ family: AddressFamily) {
        _ = tg_receive_errors(descriptor, family == .ipv4 ? AF_INET : AF_INET6, 1)
    }

    /// Empties the queue; the last message that tells of an error.
    static func drain(_ descriptor: Int32) -> ExtendedSocketError? {
        var last: ExtendedSocketError?
        var control = [UInt8](repeating: 0, count: 256)
        // The bound holds where somebody sends errors faster than they are read.
        for _ in 0..<64 {
            let count = tg_take_error(descriptor, &control, control.count)
            guard count >= 0 else { break }
            last = ExtendedSocketError(control: Array(control.prefix(count))) ?? last
        }
        return last
    }
}
