internal import NIOCore
internal import Synchronization
internal import TidegateCore

/// The open connections of a listener.
final class ConnectionRegistry: Sendable {
    private let limit: @Sendable () -> Int
    private let state: Mutex<State>

    private struct State {
        var places: ConnectionPlaces
        var closers: [UInt64: @Sendable () -> Void] = [:]
    }

    /// A table of at most `limit` connections; the limit is queried for each new one.
    init(limit: @escaping @Sendable () -> Int) {
        self.limit = limit
        self.state = Mutex(State(places: ConnectionPlaces(limit: limit())))
    }

    /// Takes a place, which is freed when the channel closes; nil if all are taken.
    ///
    /// `close` makes room for another connection.
    func admit(_ channel: any Channel, close: @escaping @Sendable () -> Void) -> UInt64? {
        let (peer, limit) = (PeerAddress(channel.remoteAddress), self.limit())
        let (number, closer) = self.state.withLock { state -> (UInt64?, (@Sendable () -> Void)?) in
            state.places.limit = limit
            guard let admission = state.places.admit(peer) else { return (nil, nil) }
            state.closers[admission.number] = close
            return (admission.number, admission.closing.flatMap { state.closers.removeValue(forKey: $0) })
        }
        closer?()
        guard let number else { return nil }
        channel.closeFuture.whenComplete { _ in
            self.change(number) { places, number in places.close(number) }
            self.state.withLock { _ = $0.closers.removeValue(forKey: number) }
        }
        return number
    }

    /// Records what a connection does.
    func change(_ number: UInt64, _ body: (inout ConnectionPlaces, UInt64) -> Void) {
        self.state.withLock { body(&$0.places, number) }
    }
}

/// Connections that count together: those of an IPv4 address, or of the /64 IPv6 prefix that one host can choose from.
struct PeerAddress: Sendable, Hashable {
    private let octets: [UInt8]

    /// The peer of a socket address; sockets without an address share one.
    init(_ address: SocketAddress?) {
        self.init(ip: Self.ip(of: address))
    }

    /// The IP address in a socket address, without its zone; nil if it has none.
    static func ip(of address: SocketAddress?) -> IPAddress? {
        address?.ipAddress.flatMap { IPAddress(String($0.prefix { $0 != "%" })) }
    }

    init(ip address: IPAddress?) {
        self.octets = Array((address?.octets ?? []).prefix(8))
    }
}
