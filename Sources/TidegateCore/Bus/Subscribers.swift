/// The sinks and subscribers of a bus at one moment; never changed, but replaced as a whole, so that publishing copies
/// one reference.
final class Subscribers: Sendable {
    private let sinks: SinkChain?
    let rings: [EventRing]

    init(sinks: SinkChain? = nil, rings: [EventRing] = []) {
        self.sinks = sinks
        self.rings = rings
    }

    /// Gives an event to every sink and every subscriber, in the order of their coming.
    func deliver(_ event: Event) {
        self.sinks?.deliver(event)
        guard !self.rings.isEmpty else { return }
        for ring in self.rings { ring.receive(event) }
    }

    func adding(_ sink: any EventSink) -> Subscribers {
        Subscribers(sinks: self.sinks?.adding(sink) ?? SinkChain(sink), rings: self.rings)
    }

    func adding(_ ring: EventRing) -> Subscribers { Subscribers(sinks: self.sinks, rings: self.rings + [ring]) }

    func removing(_ ring: EventRing) -> Subscribers {
        Subscribers(sinks: self.sinks, rings: self.rings.filter { $0 !== ring })
    }
}

/// The sinks of a bus, of which there are few.
///
/// A linked list and not an array: a sink held by an immutable object is called in place, while an element of an array
/// is copied first, and that counts references for every sink and every event.
final class SinkChain: Sendable {
    private let sink: any EventSink
    private let next: SinkChain?

    init(_ sink: any EventSink, next: SinkChain? = nil) {
        self.sink = sink
        self.next = next
    }

    func deliver(_ event: Event) {
        self.sink.receive(event)
        self.next?.deliver(event)
    }

    /// The chain with one more sink at its end.
    func adding(_ sink: any EventSink) -> SinkChain {
        SinkChain(self.sink, next: self.next?.adding(sink) ?? SinkChain(sink))
    }
}
