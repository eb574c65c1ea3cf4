internal import Glibc
internal import Synchronization

/// A scriptable HTTP/1.1 server on real sockets: a thread for the listener and one for every connection.
package final class LiveServer: Sendable {
    /// The port it listens on.
    package let port: UInt16
    private let address: String
    private let listener: Int32
    private let answer: @Sendable (LiveServerRequest) -> LiveServerAnswer
    private let state = Mutex(State())

    private struct State {
        var requests: [LiveServerRequest] = []
        var accepted = 0
        var open: Set<Int32> = []
        var threads: [pthread_t] = []
        var isStopping = false
    }

    /// Starts listening; `answer` is called on a connection's thread.
    ///
    /// Port 0 takes a free one.
    package init(
        address: String = "127.0.0.1", port: UInt16 = 0,
        answer: @escaping @Sendable (LiveServerRequest) -> LiveServerAnswer
    ) throws {
        self.address = address
        self.answer = answer
        self.listener = try LiveServerSocket.listen(address, port)
        self.port = try LiveServerSocket.port(of: self.listener)
        try self.run { [self] in self.accept() }
    }

    /// A URL of this server.
    package func url(_ path: String = "/") -> String { "http://\(self.address):\(self.port)\(path)" }

    /// Every request received, in order.
    package var requests: [LiveServerRequest] { self.state.withLock { $0.requests } }

    /// How many connections were accepted.
    package var accepted: Int { self.state.withLock { $0.accepted } }

    /// How many connections are open on both sides.
    package var open: Int { self.state.withLock { $0.open.count } }

    /// Closes every connection and ends every thread.
    package func stop() {
        let threads = self.state.withLock { state in
            state.isStopping = true
            for descriptor in state.open { shutdown(descriptor, Int32(SHUT_RDWR)) }
            defer { state.threads = [] }
            return state.threads
        }
        shutdown(self.listener, Int32(SHUT_RDWR))
        for thread in threads { pthread_join(thread, nil) }
    }

    deinit { close(self.listener) }

    private func accept() {
        while true {
            let descriptor = Glibc.accept(self.listener, nil, nil)
            guard descriptor >= 0 else { return }
            let number = self.state.withLock { state in
                guard !state.isStopping else { return 0 }
                state.accepted += 1
                state.open.insert(descriptor)
                return state.accepted
            }
            guard number > 0, (try? self.run { [self] in self.serve(descriptor, number) }) != nil else {
                self.state.withLock { _ = $0.open.remove(descriptor) }
                _ = Glibc.close(descriptor)
                continue
            }
        }
    }

    private func serve(_ descriptor: Int32, _ number: Int) {
        var socket = LiveServerSocket(descriptor)
        while var request = socket.readRequest(connection: number) {
            request.number = self.record(request)
            guard self.play(self.answer(request).steps, on: descriptor) else { break }
        }
        // Removed first: the number of a closed descriptor may be reused at once.
        self.state.withLock { _ = $0.open.remove(descriptor) }
        _ = Glibc.close(descriptor)
    }

    private func record(_ request: LiveServerRequest) -> Int {
        self.state.withLock { state in
            state.requests.append(request)
            state.requests[state.requests.count - 1].number = state.requests.count
            return state.requests.count
        }
    }

    /// False if the connection is closed.
    private func play(_ steps: [LiveServerAnswer.Step], on descriptor: Int32) -> Bool {
        for step in steps {
            switch step {
            case .send(let bytes):
                guard LiveServerSocket.send(bytes, on: descriptor) else { return false }
            case .pattern(let start, let count):
                guard self.sendPattern(start, count, on: descriptor) else { return false }
            case .wait(let milliseconds): self.wait(milliseconds)
            case .waitFor(let latch): self.wait(for: latch)
            case .close: return false
            case .reset:
                LiveServerSocket.breakOnClose(descriptor)
                return false
            case .flood(let bytes):
                while !self.state.withLock({ $0.isStopping }), LiveServerSocket.send(bytes, on: descriptor) {}
                return false
            case .hang:
                var byte: UInt8 = 0
                while recv(descriptor, &byte, 1, 0) > 0 {}
                return false
            }
        }
        return true
    }

    private func sendPattern(_ start: Int64, _ count: Int64, on descriptor: Int32) -> Bool {
        var sent: Int64 = 0
        while sent < count {
            let part = min(64 * 1024, count - sent)
            guard LiveServerSocket.send(LiveServerAnswer.bytes(from: start + sent, count: part), on: descriptor)
            else { return false }
            sent += part
        }
        return true
    }

    private func wait(_ milliseconds: Int) {
        var left = milliseconds
        while left > 0, !self.state.withLock({ $0.isStopping }) {
            usleep(UInt32(min(left, 10)) * 1000)
            left -= 10
        }
    }

    private func wait(for latch: Latch) {
        while !latch.isOpen, !self.state.withLock({ $0.isStopping }) { usleep(1000) }
    }

    private func run(_ body: @escaping @Sendable () -> Void) throws {
        let thread = try LiveServerThread.start(body)
        self.state.withLock { $0.threads.append(thread) }
    }
}
