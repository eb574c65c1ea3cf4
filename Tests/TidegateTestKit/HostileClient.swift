internal import Foundation
internal import Synchronization

/// Many connections of one client that does to a server what no other client does; ends when it is stopped.
package final class HostileClient: Sendable {
    /// What every connection does.
    package struct Trick: Sendable, CustomStringConvertible {
        /// What it is called in results.
        package let description: String
        /// What is sent at first.
        package let opening: String
        /// What is sent again and again, at random times.
        package let drip: String
        /// Whether a closed connection is opened again.
        package let reconnects: Bool

        init(_ name: String, opening: String = "", drip: String = "", reconnects: Bool = true) {
            self.description = name
            self.opening = opening
            self.drip = drip
            self.reconnects = reconnects
        }
    }

    /// Every trick against places and time limits.
    package static let tricks = [
        Trick("silence"),
        Trick("silence, once", reconnects: false),
        Trick("a head that never ends", opening: "GET / HTTP/1.1\r\nHost: localhost\r\nX-Slow: ", drip: "z"),
        Trick("fields without end", opening: "GET / HTTP/1.1\r\nHost: localhost\r\n", drip: "X-Y: z\r\n"),
        Trick("empty lines", drip: "\r\n"),
        Trick(
            "a body that never ends", opening: "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 999999\r\n\r\n",
            drip: "z"),
        Trick(
            "a GET with a body",
            opening: "GET /-/healthy HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n",
            drip: "1\r\nz\r\n"),
        Trick("half a handshake", opening: "\u{16}\u{03}\u{01}\u{02}\u{00}\u{01}", drip: "\u{01}"),
        Trick(
            "responses that the client never reads", opening: "",
            drip: String(repeating: "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n", count: 20)),
        Trick("a request, then silence", opening: "GET /-/healthy HTTP/1.1\r\nHost: localhost\r\n\r\n"),
    ]

    private let isStopped = Mutex(false)

    /// Opens connections to a port of the loopback address, from `source`; the same seed gives the same times.
    ///
    /// Closed connections are opened again, `reconnects` in 20 ms at most.
    package init(
        _ trick: Trick, port: Int, connections: Int, from source: String = "127.0.0.1", reconnects: Int = 10,
        seed: UInt64 = 1
    ) {
        Thread.detachNewThread { [self] in
            var crowd = HostileCrowd(trick, port: port, source: source, reconnects: reconnects, seed: seed)
            for _ in 0..<connections { crowd.open() }
            while !self.isStopped.withLock({ $0 }) {
                crowd.turn()
                usleep(20_000)
            }
            crowd.close()
        }
    }

    /// Closes every connection.
    package func stop() { self.isStopped.withLock { $0 = true } }
}

private struct HostileCrowd {
    let trick: HostileClient.Trick
    let port: Int
    let source: String
    private var state: UInt64
    private var descriptors: [Int32] = []
    private var missing = 0

    init(_ trick: HostileClient.Trick, port: Int, source: String, reconnects: Int, seed: UInt64) {
        self.reconnectsPerTurn = reconnects
        self.trick = trick
        self.port = port
        self.source = source
        self.state = seed
    }

    mutating func open() {
        let descriptor = socket(
            AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return }
        Self.name(self.source, 0) { _ = bind(descriptor, $0, $1) }
        Self.name("127.0.0.1", UInt16(self.port)) { _ = connect(descriptor, $0, $1) }
        _ = Self.send(self.trick.opening, on: descriptor)
        self.descriptors.append(descriptor)
    }

    private let reconnectsPerTurn: Int

    // About one connection in five sends something; every one is looked at.
    mutating func turn() {
        let open = self.descriptors
        self.descriptors = []
        for descriptor in open {
            var byte: UInt8 = 0
            let isOpen = recv(descriptor, &byte, 1, Int32(MSG_PEEK)) != 0
            let isSent = self.chance() > 4 || Self.send(self.trick.drip, on: descriptor)
            if isOpen, isSent {
                self.descriptors.append(descriptor)
            } else {
                Foundation.close(descriptor)
                if self.trick.reconnects { self.missing += 1 }
            }
        }
        for _ in 0..<min(self.missing, self.reconnectsPerTurn) {
            self.open()
            self.missing -= 1
        }
    }

    func close() { for descriptor in self.descriptors { Foundation.close(descriptor) } }

    // 0 to 24, from a linear congruential generator (Knuth's constants).
    private mutating func chance() -> UInt64 {
        self.state = self.state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return (self.state >> 33) % 25
    }

    // False if the server has closed the connection.
    private static func send(_ text: String, on descriptor: Int32) -> Bool {
        let bytes = Array(text.utf8)
        guard !bytes.isEmpty else { return true }
        let count = Foundation.send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL))
        return count >= 0 || errno == EAGAIN || errno == ENOTCONN
    }

    private static func name(_ address: String, _ port: UInt16, _ use: (UnsafePointer<sockaddr>, socklen_t) -> Void) {
        var name = sockaddr_in()
        name.sin_family = sa_family_t(AF_INET)
        name.sin_port = port.bigEndian
        _ = inet_pton(AF_INET, address, &name.sin_addr)
        withUnsafePointer(to: &name) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                use($0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
    }
}
