internal import Glibc
internal import Synchronization
internal import TidegateLoop

/// A tun device with somebody at its other end; it loses its carrier when it is released.
public final class NetworkNamespaceTun: Sendable {
    private let descriptor: Int32

    /// Attaches to the tun device `name` inside `namespace`, making it where it does not exist.
    public init(_ name: String, in namespace: NetworkNamespace) throws {
        let opened = Atomic<Int32>(-1)
        try namespace.inside { opened.store(NetworkNamespaceTun.open(name), ordering: .releasing) }
        self.descriptor = opened.load(ordering: .acquiring)
        guard self.descriptor >= 0 else {
            throw CommandFailure(description: "/dev/net/tun cannot be attached to \(name)")
        }
    }

    deinit { close(self.descriptor) }

    private static func open(_ name: String) -> Int32 {
        let descriptor = Glibc.open("/dev/net/tun", O_RDWR | O_CLOEXEC)
        guard descriptor >= 0 else { return -1 }
        // struct ifreq: the name in 16 bytes, then IFF_TUN | IFF_NO_PI; TUNSETIFF of <linux/if_tun.h>.
        var request = [UInt8](repeating: 0, count: 40)
        for (position, byte) in name.utf8.prefix(15).enumerated() { request[position] = byte }
        (request[16], request[17]) = (0x01, 0x10)
        guard ioctl(descriptor, 0x4004_54CA, &request) == 0 else {
            close(descriptor)
            return -1
        }
        return descriptor
    }
}

extension NetworkNamespace {
    /// Runs `body` on a thread of its own inside, and waits for it.
    public func inside(_ body: @escaping @Sendable () -> Void) throws {
        let thread = try LoopThread<Idle>(name: "tg-inside") { _ in
            self.enter()
            body()
            return Idle()
        }
        thread.stop()
    }
}

private final class Idle: LoopBody {
    func receive(_ command: Never) {}
}
