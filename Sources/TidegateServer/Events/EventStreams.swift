internal import NIOCore
internal import Synchronization
internal import TidegateCore

/// The event streams that are open: so many at most, and all of them end when the endpoint does.
final class EventStreams: Sendable {
    private let limit: Int
    private let state = Mutex(State())

    private struct Place {
        let follower: EventHistory.Reader
        let connection: ObjectIdentifier
    }

    private struct State {
        var lastNumber = 0
        var open: [Int: Place] = [:]
        var isEnding = false
    }

    init(limit: Int) { self.limit = limit }

    /// How many are open.
    var count: Int { self.state.withLock { $0.open.count } }

    /// A place for one more on this connection; nil where there is none.
    func enter(_ follower: EventHistory.Reader, on connection: ObjectIdentifier) -> Int? {
        self.state.withLock { state in
            guard !state.isEnding, state.open.count < self.limit else { return nil }
            state.lastNumber += 1
            state.open[state.lastNumber] = Place(follower: follower, connection: connection)
            return state.lastNumber
        }
    }

    func leave(_ place: Int) { self.state.withLock { _ = $0.open.removeValue(forKey: place) } }

    /// Ends all, now and from now on.
    func end() {
        let open = self.state.withLock { state in
            state.isEnding = true
            return state.open.values.map(\.self)
        }
        for place in open { place.follower.end() }
    }

    /// Ends the stream on a connection whose client will not say any more: nothing else would tell that it went.
    func end(on connection: ObjectIdentifier) {
        let place = self.state.withLock { $0.open.values.first { $0.connection == connection } }
        place?.follower.end()
    }
}

/// Hears what a stream does not: that its server is about to stop, and that its client has gone.
final class StreamEndListener: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = NIOAny
    private let streams: EventStreams

    init(streams: EventStreams) { self.streams = streams }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event is ChannelShouldQuiesceEvent { self.streams.end() }
        // Servers here let clients close their half; one that has asked for a stream has nothing to say with the other.
        if case .inputClosed? = event as? ChannelEvent { self.streams.end(on: ObjectIdentifier(context.channel)) }
        context.fireUserInboundEventTriggered(event)
    }
}
