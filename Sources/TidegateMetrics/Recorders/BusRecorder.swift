internal import TidegateCore

/// Records the events of the bus by topic, and what its subscribers hold and lose.
struct BusRecorder: Sendable {
    private let published: FixedLabelFamily<Event.Topic, Counter>

    init(_ registry: Registry) {
        self.published = registry.adding(FixedLabelFamily(Catalogue.busPublished))
        let kinds = SubscriberKind.allCases
        registry.collect(Catalogue.busDropped, by: kinds) { $0.subscribers[$1]?.dropped }
        registry.collect(Catalogue.busQueueLength, by: kinds) { $0.subscribers[$1]?.queued }
        registry.collect(Catalogue.busQueueCapacity, by: kinds) { $0.subscribers[$1]?.capacity }
    }

    func record(_ topic: Event.Topic) { self.published[topic].add() }
}
