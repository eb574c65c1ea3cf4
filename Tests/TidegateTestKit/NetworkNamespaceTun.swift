internal import Glibc
internal import Synchronization
internal import TidegateLoop

/// A tun or tap device that a program has open; it loses its carrier when this is released.
package final class NetworkNamespaceTun: Sendable {
    /// What the device transports.
    package enum Kind: Sendable, CaseIterable {
        /// IP packets (a tun device).
        case packets
        /// Ethernet frames (a tap device).
        case frames

        // IFF_TUN or IFF_TAP of <linux/if_tun.h>.
        fileprivate var flag: UInt8 { self == .packets ? 0x01 : 0x02 }
    }

    /// Readable when the kernel has sent a packet or frame.
    let descriptor: Int32

    /// Attaches to the device `name` inside `namespace`, creating it if it does not exist.
    ///
    /// A device created here is removed when this is released.
    package init(_ name: String, _ kind: Kind = .packets, in namespace: NetworkNamespace) throws {
        let opened = Atomic<Int32>(-1)
        try namespace.inside { opened.store(NetworkNamespaceTun.open(name, kind), ordering: .releasing) }
        self.descriptor = opened.load(ordering: .acquiring)
        guard self.descriptor >= 0 else {
            throw CommandFailure(description: "/dev/net/tun cannot be attached to \(name)")
        }
    }

    deinit { close(self.descriptor) }

    /// Sets the carrier, as the program that has the device open may (TUNSETCARRIER).
    package func setCarrier(_ isOn: Bool) throws {
        var value: Int32 = isOn ? 1 : 0
        guard ioctl(self.descriptor, 0x4004_54E2, &value) == 0 else {
            throw CommandFailure(description: "TUNSETCARRIER: \(errno)")
        }
    }

    /// Takes the oldest packet or frame that the kernel has sent through the device.
    func take(into buffer: inout [UInt8]) -> Taken {
        let size = read(self.descriptor, &buffer, buffer.count)
        if size > 0 { return .bytes(Array(buffer[..<size])) }
        return size < 0 && errno != EAGAIN && errno != EINTR ? .gone : .nothing
    }

    /// The results of ``take(into:)``.
    enum Taken {
        case bytes([UInt8])
        case nothing
        /// The device was deleted.
        case gone
    }

    /// Makes the kernel receive a packet or frame through the device; false if it refuses, as while the device is down.
    func put(_ bytes: [UInt8]) -> Bool { write(self.descriptor, bytes, bytes.count) == bytes.count }

    private static func open(_ name: String, _ kind: Kind) -> Int32 {
        let descriptor = Glibc.open("/dev/net/tun", O_RDWR | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { return -1 }
        // struct ifreq: the name in 16 bytes, then the kind with IFF_NO_PI; TUNSETIFF of <linux/if_tun.h>.
        var request = [UInt8](repeating: 0, count: 40)
        for (position, byte) in name.utf8.prefix(15).enumerated() { request[position] = byte }
        (request[16], request[17]) = (kind.flag, 0x10)
        guard ioctl(descriptor, 0x4004_54CA, &request) == 0 else {
            close(descriptor)
            return -1
        }
        return descriptor
    }
}

extension NetworkNamespace {
    /// Runs `body` on a new thread inside, and waits for it.
    package func inside(_ body: @escaping @Sendable () -> Void) throws {
        let thread = try LoopThread<Idle>(name: "tg-inside") { _ in
            self.enter()
            body()
            return Idle()
        }
        thread.stop()
    }
}

private final class Idle: LoopHandler {
    func receive(_ command: Never) {}
}
