internal import NIOCore
internal import Synchronization
internal import TidegateCore

/// The open event streams: at most a fixed number, and all of them end when the endpoint stops.
final class EventStreamSlots: Sendable {
    private let limit: Int
    private let state = Mutex(State())

    private struct State {
        var lastNumber = 0
        var open: [Int: (reader: EventHistory.Reader, connection: ObjectIdentifier)] = [:]
        var isEnding = false
    }

    init(limit: Int) { self.limit = limit }

    /// How many streams are open.
    var count: Int { self.state.withLock { $0.open.count } }

    /// Takes a slot for a stream on this connection; nil if none is free.
    func acquire(_ reader: EventHistory.Reader, on connection: ObjectIdentifier) -> Int? {
        self.state.withLock { state in
            guard !state.isEnding, state.open.count < self.limit else { return nil }
            state.lastNumber += 1
            state.open[state.lastNumber] = (reader, connection)
            return state.lastNumber
        }
    }

    /// Frees a slot; one that is free already stays so.
    func release(_ slot: Int) { self.state.withLock { _ = $0.open.removeValue(forKey: slot) } }

    /// Ends every stream, now and from now on.
    func endAll() {
        let open = self.state.withLock { state in
            state.isEnding = true
            return state.open.values.map(\.self)
        }
        for slot in open { slot.reader.end() }
    }

    /// Ends the stream on a connection whose client has closed its sending side: nothing else reports that it left.
    func end(on connection: ObjectIdentifier) {
        let slot = self.state.withLock { $0.open.values.first { $0.connection == connection } }
        slot?.reader.end()
    }
}

/// Ends event streams when their server begins to stop, and when their client disconnects.
final class EventStreamEndHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = NIOAny
    private let slots: EventStreamSlots

    init(slots: EventStreamSlots) { self.slots = slots }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event is ChannelShouldQuiesceEvent { self.slots.endAll() }
        // Half-closed connections are allowed here; a client that reads a stream has nothing more to send.
        if case .inputClosed? = event as? ChannelEvent { self.slots.end(on: ObjectIdentifier(context.channel)) }
        context.fireUserInboundEventTriggered(event)
    }
}
