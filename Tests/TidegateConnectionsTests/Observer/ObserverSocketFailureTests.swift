import Foundation
import Glibc
import Testing
import TidegateConnections
import TidegateCore
import TidegateTestKit

/// A socket that stops working.
@Suite(
    .enabled(if: NetworkNamespace.isAvailable, "network namespaces need root and ip(8)"), .timeLimit(.minutes(5)))
struct ObserverSocketFailureTests {
    // The socket on which the observer of a namespace receives messages: of NETLINK_SOCK_DIAG, and in groups.
    private static func endingsDescriptor(in hosts: ThreeHosts) throws -> Int32 {
        let namespace = try Self.inode("/var/run/netns/\(hosts.here.name)")
        let descriptors = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").compactMap { Int32($0) }
        let found = descriptors.filter { (descriptor: Int32) -> Bool in
            guard Self.option(SO_DOMAIN, of: descriptor) == AF_NETLINK, Self.option(SO_PROTOCOL, of: descriptor) == 4
            else { return false }
            // struct sockaddr_nl of netlink(7): the groups are its last word.
            var fields = [UInt32](repeating: 0, count: 3)
            var length = socklen_t(12)
            let status = fields.withUnsafeMutableBytes { bytes in
                getsockname(descriptor, bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self), &length)
            }
            return status == 0 && fields[2] != 0 && Self.namespace(of: descriptor) == namespace
        }
        #expect(found.count == 1)
        return try #require(found.first)
    }

    private static func option(_ name: Int32, of descriptor: Int32) -> Int32? {
        var (value, length) = (Int32(0), socklen_t(MemoryLayout<Int32>.size))
        return getsockopt(descriptor, SOL_SOCKET, name, &value, &length) == 0 ? value : nil
    }

    // SIOCGSKNS (linux/sockios.h) opens the namespace of a socket.
    private static func namespace(of descriptor: Int32) -> UInt? {
        let opened = ioctl(descriptor, 0x894C)
        guard opened >= 0 else { return nil }
        defer { close(opened) }
        var status = stat()
        return fstat(opened, &status) == 0 ? UInt(status.st_ino) : nil
    }

    private static func inode(_ path: String) throws -> UInt {
        var status = stat()
        try #require(stat(path, &status) == 0, "\(path)")
        return UInt(status.st_ino)
    }

    @Test("The socket for messages that fails is opened again, and what ends after that is counted")
    func reopened() async throws {
        let fixture = try await ObserverFixture()
        let isObserving = await eventually { fixture.statistics.mode == .event }
        #expect(isObserving)
        let descriptor = try Self.endingsDescriptor(in: fixture.hosts)
        let other = open("/dev/null", O_RDONLY | O_CLOEXEC)
        try #require(other >= 0 && dup2(other, descriptor) == descriptor)
        close(other)
        let modes = {
            fixture.events.compactMap { event -> ObservationMode? in
                if case .modeChanged(_, let mode, _) = event { mode } else { nil }
            }
        }
        let isReopened = await eventually { modes() == [.event, .poll, .event] }
        #expect(isReopened, "\(modes())")
        try await fixture.run(
            "connection = connect(9001); connection.sendall(b'x'); connection.recv(2); connection.close()")
        let isCounted = await eventually { fixture.statistics.traffic[.outgoing]?.ends[.closed] == 1 }
        #expect(isCounted, "\(fixture.statistics)")
    }
}
