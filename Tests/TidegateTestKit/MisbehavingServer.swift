internal import Glibc
internal import Synchronization
internal import TidegateLoop

/// TCP ports inside a namespace that accept connections and then do something else than serve; closed when it is
/// released.
package final class MisbehavingServer: Sendable {
    /// What a port does with a connection.
    package enum Behaviour: Sendable {
        /// Never answers.
        case hang
        /// Resets the connection as soon as something was sent to it.
        case reset
        /// Sends a greeting before anything was asked.
        case banner(String)
        /// Answers an HTTP request after so long.
        case slow(Duration)
    }

    private let thread: LoopThread<MisbehavingHandler>

    /// Listens on ports of an IPv4 address inside `namespace`.
    package init(_ ports: [UInt16: Behaviour], at address: String, in namespace: NetworkNamespace) throws {
        let opened = Mutex<[Int32: Behaviour]>([:])
        try namespace.inside {
            for (port, behaviour) in ports {
                let descriptor = Self.open(port, address)
                opened.withLock { $0[descriptor] = behaviour }
            }
        }
        let listeners = opened.withLock { $0 }
        guard listeners[-1] == nil else {
            for descriptor in listeners.keys where descriptor >= 0 { close(descriptor) }
            throw CommandFailure(description: "a port of \(address) cannot be listened on")
        }
        self.thread = try LoopThread(name: "tg-misbehaving") { MisbehavingHandler($0, listeners) }
    }

    deinit { self.thread.stop() }

    private static func open(_ port: UInt16, _ text: String) -> Int32 {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        _ = inet_pton(AF_INET, text, &address.sin_addr)
        let size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, size) == 0 }
        }
        guard isBound, listen(descriptor, 64) == 0 else {
            close(descriptor)
            return -1
        }
        return descriptor
    }
}

private final class MisbehavingHandler: LoopHandler {
    private let loop: Loop
    private let listeners: [Int32: MisbehavingServer.Behaviour]
    private var connections: [Int32: MisbehavingServer.Behaviour] = [:]

    init(_ loop: Loop, _ listeners: [Int32: MisbehavingServer.Behaviour]) {
        self.loop = loop
        self.listeners = listeners
        for descriptor in listeners.keys { try? loop.watch(descriptor, for: .read) }
    }

    func receive(_ command: Never) {}

    func ready(_ descriptor: Int32, for events: Loop.Interest) {
        if let behaviour = self.listeners[descriptor] {
            self.accept(descriptor, behaviour)
        } else {
            self.read(descriptor)
        }
    }

    // The answer of a slow port is due.
    func timerFired(_ token: UInt64) {
        let descriptor = Int32(truncatingIfNeeded: token)
        guard self.connections[descriptor] != nil else { return }
        self.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", to: descriptor)
    }

    func stopping() {
        for descriptor in Array(self.listeners.keys) + Array(self.connections.keys) { close(descriptor) }
    }

    private func accept(_ listener: Int32, _ behaviour: MisbehavingServer.Behaviour) {
        let connection = Glibc.accept(listener, nil, nil)
        guard connection >= 0 else { return }
        self.connections[connection] = behaviour
        try? self.loop.watch(connection, for: .read)
        if case .banner(let text) = behaviour { self.send(text, to: connection) }
    }

    private func read(_ connection: Int32) {
        guard let behaviour = self.connections[connection] else { return }
        var buffer = [UInt8](repeating: 0, count: 4096)
        let count = recv(connection, &buffer, buffer.count, Int32(MSG_DONTWAIT))
        switch behaviour {
        case _ where count <= 0: self.end(connection)
        case .hang, .banner: break
        case .reset:
            var linger = linger(l_onoff: 1, l_linger: 0)
            setsockopt(connection, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout.size(ofValue: linger)))
            self.end(connection)
        case .slow(let delay):
            _ = self.loop.schedule(after: delay, token: UInt64(UInt32(bitPattern: connection)))
        }
    }

    private func send(_ text: String, to connection: Int32) {
        let bytes = Array(text.utf8)
        _ = Glibc.send(connection, bytes, bytes.count, Int32(MSG_NOSIGNAL))
    }

    private func end(_ connection: Int32) {
        try? self.loop.unwatch(connection)
        self.connections[connection] = nil
        close(connection)
    }
}
