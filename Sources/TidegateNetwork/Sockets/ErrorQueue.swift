internal import CLinux
internal import Glibc
internal import TidegateCore

/// A socket's error queue (IP_RECVERR in ip(7)).
enum ErrorQueue {
    /// Enables ICMP errors; if the kernel does not support them for this socket, outcomes only have less detail.
    static func open(_ descriptor: Int32, _ family: AddressFamily) {
        _ = tg_receive_errors(descriptor, family.domain, 1)
    }

    /// Empties the queue; returns its last error.
    ///
    /// - Parameter counts: Whether an error about a packet that starts with these bytes counts.
    static func drain(
        _ descriptor: Int32, where counts: (ExtendedSocketError, _ packet: ArraySlice<UInt8>) -> Bool = { _, _ in true }
    ) -> ExtendedSocketError? {
        var last: ExtendedSocketError?
        var control = [UInt8](repeating: 0, count: 256)
        var packet = [UInt8](repeating: 0, count: 64)
        // Bounded, in case errors arrive faster than they are read.
        for _ in 0..<64 {
            var size = packet.count
            let count = tg_take_error(descriptor, &packet, &size, &control, control.count)
            guard count >= 0 else { break }
            guard let error = ExtendedSocketError(control: Array(control.prefix(count))),
                counts(error, packet.prefix(size))
            else { continue }
            last = error
        }
        return last
    }
}
