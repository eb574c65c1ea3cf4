internal import Glibc
internal import Synchronization
internal import TidegateTestKit

/// Sends ICMP "time to live exceeded" from a namespace to 10.0.0.2, about packets that were never sent.
final class ICMPForger: Sendable {
    /// The packet that is quoted.
    struct Packet {
        var source: String
        var destination: String
        var port: UInt16
        var isTCP: Bool
    }

    private let descriptor: Int32

    init(in namespace: NetworkNamespace) throws {
        let opened = Atomic<Int32>(-1)
        try namespace.inside {
            // IPPROTO_ICMP
            opened.store(socket(AF_INET, Int32(SOCK_RAW.rawValue | SOCK_CLOEXEC.rawValue), 1), ordering: .releasing)
        }
        self.descriptor = opened.load(ordering: .acquiring)
    }

    deinit { close(self.descriptor) }

    func send(_ packet: Packet, from port: UInt16) throws {
        var message: [UInt8] = [11, 0, 0, 0, 0, 0, 0, 0] + Self.quoted(packet, from: port)
        let sum = Self.checksum(message)
        (message[2], message[3]) = (UInt8(sum >> 8), UInt8(sum & 0xFF))
        var target = sockaddr_in()
        target.sin_family = sa_family_t(AF_INET)
        _ = inet_pton(AF_INET, "10.0.0.2", &target.sin_addr)
        let size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let sent = withUnsafePointer(to: &target) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                sendto(self.descriptor, message, message.count, 0, $0, size)
            }
        }
        if sent != message.count { throw Failure(code: errno) }
    }

    struct Failure: Error {
        var code: Int32
    }

    // An IPv4 header without options, and the first eight bytes behind it: ports, then length or sequence number.
    private static func quoted(_ packet: Packet, from port: UInt16) -> [UInt8] {
        var header: [UInt8] = [0x45, 0, 0, 29, 0, 0, 0, 0, 1, packet.isTCP ? 6 : 17, 0, 0]
        header += self.octets(packet.source) + self.octets(packet.destination)
        let sum = self.checksum(header)
        (header[10], header[11]) = (UInt8(sum >> 8), UInt8(sum & 0xFF))
        let ports = [port, packet.port].flatMap { [UInt8($0 >> 8), UInt8($0 & 0xFF)] }
        return header + ports + (packet.isTCP ? [1, 2, 3, 4] : [0, 9, 0, 0])
    }

    private static func octets(_ text: String) -> [UInt8] {
        text.split(separator: ".").compactMap { UInt8($0) }
    }

    // RFC 1071.
    private static func checksum(_ bytes: [UInt8]) -> UInt16 {
        var sum: UInt32 = 0
        for index in stride(from: 0, to: bytes.count, by: 2) {
            sum += UInt32(bytes[index]) << 8 | (index + 1 < bytes.count ? UInt32(bytes[index + 1]) : 0)
        }
        while sum > 0xFFFF { sum = (sum >> 16) + (sum & 0xFFFF) }
        return ~UInt16(sum)
    }
}
