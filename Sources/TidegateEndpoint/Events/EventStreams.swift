internal import NIOCore
internal import Synchronization
internal import TidegateBus

/// The event streams that are open: so many at most, and all of them end when the endpoint does.
final class EventStreams: Sendable {
    private let limit: Int
    private let state = Mutex(State())

    private struct State {
        var lastNumber = 0
        var open: [Int: HistoryFollower] = [:]
        var isEnding = false
    }

    init(limit: Int) { self.limit = limit }

    /// How many are open.
    var count: Int { self.state.withLock { $0.open.count } }

    /// A place for one more; nil where there is none.
    func enter(_ follower: HistoryFollower) -> Int? {
        self.state.withLock { state in
            guard !state.isEnding, state.open.count < self.limit else { return nil }
            state.lastNumber += 1
            state.open[state.lastNumber] = follower
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
        for follower in open { follower.end() }
    }
}

/// Hears that a connection's server is about to stop: an answer that has no end of its own has to end then.
final class QuiesceListener: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = NIOAny
    private let streams: EventStreams

    init(streams: EventStreams) { self.streams = streams }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event is ChannelShouldQuiesceEvent { self.streams.end() }
        context.fireUserInboundEventTriggered(event)
    }
}
