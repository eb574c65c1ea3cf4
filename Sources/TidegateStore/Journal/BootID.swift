internal import Glibc

/// Names this boot of the machine: moments on the monotonic clock compare only within one.
enum BootID {
    /// The kernel's random id; empty if it cannot be read, and then moments compare by the wall clock.
    static func current() -> String {
        let descriptor = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return "" }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: 64)
        let count = read(descriptor, &bytes, bytes.count)
        return String(decoding: bytes.prefix(max(0, count)).prefix { $0 > 32 }, as: UTF8.self)
    }
}
