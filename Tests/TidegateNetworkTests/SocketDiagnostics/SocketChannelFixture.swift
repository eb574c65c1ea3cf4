internal import CLinux
internal import CNetlink
internal import Glibc
internal import Synchronization
internal import TidegateCore
internal import TidegateTestKit

@testable internal import TidegateNetwork

/// Code on a thread inside a namespace, with the two channels of socket diagnostics and programs that make messages.
enum SocketChannelFixture {
    /// Runs `body` on a thread inside a namespace, and returns what it returns.
    static func inside<Value: Sendable>(
        _ namespace: NetworkNamespace, _ body: @escaping @Sendable () throws -> Value
    ) throws -> Value {
        let box = ResultBox<Value>()
        try namespace.inside { box.set(Result { try body() }) }
        guard let value = box.value else { throw TextError("the thread did not run") }
        return try value.get()
    }

    /// A pair whose far end never answers a connect, so that one to 10.0.0.1 stays open for minutes.
    static func silentPair() throws -> VethPairFixture {
        let veth = try VethPairFixture()
        try ThreeHosts.filter(
            veth.there, "table inet t { chain i { type filter hook input priority 0; meta l4proto tcp drop; }; }")
        return veth
    }

    /// Runs Python, with ``prelude`` before it, where the calling thread is, to its end.
    static func python(_ script: String) throws {
        try NamespaceCommand.check(["python3", "-c", self.prelude + script])
    }

    /// What scripts begin with: `attempt(address)` opens a connection without waiting for it.
    static let prelude = """
        import socket
        def attempt(address, port=9):
            connection = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET)
            connection.setblocking(False)
            connection.connect_ex((address, port))
            return connection

        """

    /// Reads messages until there are so many, and for a moment after, in which more would come.
    static func read(_ channel: SocketEndingChannel, _ count: Int) -> [SocketReport] {
        var reports: [SocketReport] = []
        var deadline = ContinuousClock.now + .seconds(20)
        while ContinuousClock.now < deadline {
            let received = try? channel.receive { if case .socket(let report) = $0 { reports.append(report) } }
            guard received != true else { continue }
            if reports.count >= count { deadline = min(deadline, ContinuousClock.now + .milliseconds(200)) }
            self.pause(channel.descriptor)
        }
        return reports
    }

    /// Waits until there is something to read, or for 20 ms.
    static func pause(_ descriptor: Int32) {
        var descriptor = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        _ = poll(&descriptor, 1, 20)
    }

    /// A socket that listens at some port of IPv4; the caller closes it.
    static func listener() throws -> Int32 {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0, listen(descriptor, 1) == 0 else { throw TextError("no listener") }
        return descriptor
    }

    /// What a list of one family shows.
    static func list(_ channel: SocketDumpChannel, _ request: SocketDump) throws -> [SocketReport] {
        var reports: [SocketReport] = []
        try channel.dump(request) { reports.append($0) }
        return reports
    }
}

private final class ResultBox<Value: Sendable>: Sendable {
    private let stored = Mutex<Result<Value, any Error>?>(nil)

    var value: Result<Value, any Error>? { self.stored.withLock { $0 } }

    func set(_ result: Result<Value, any Error>) { self.stored.withLock { $0 = result } }
}

/// A member of the groups without a filter, which sees everything that the kernel says.
struct SocketWitness: ~Copyable {
    private let socket: NetlinkSocket

    private init(_ socket: consuming NetlinkSocket) { self.socket = socket }

    /// A member from now on.
    static func joined() throws -> SocketWitness {
        let socket = try NetlinkSocket.connected(
            .socketEndings, NetlinkOptions(), bufferBytes: 8 << 20, protocol: SocketEndingChannel.protocolNumber)
        try socket.setNonblocking()
        for group: UInt32 in [1, 3] { try socket.join(group) }
        return SocketWitness(socket)
    }

    /// Waits for so many messages; how many there were.
    func wait(for count: Int) -> Int {
        var seen = 0
        let deadline = ContinuousClock.now + .seconds(20)
        while seen < count, ContinuousClock.now < deadline {
            if self.socket.receive({ _ in }) == .datagram {
                seen += 1
            } else {
                SocketChannelFixture.pause(self.socket.descriptor)
            }
        }
        return seen
    }
}
