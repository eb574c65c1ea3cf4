internal import TidegateCore

/// Records the events of the bus by topic, and what its subscribers hold and lose.
struct BusRecorder: Sendable {
    private let published: FixedLabelFamily<Event.Topic, Counter>

    init(_ registry: Registry) {
        self.published = registry.adding(FixedLabelFamily(Catalogue.busPublished))
        registry.collect(Catalogue.busDropped) { inputs, samples in
            for (kind, statistics) in inputs.sortedSubscribers { samples.add(kind.label, value: statistics.dropped) }
        }
        registry.collect(Catalogue.busQueueLength) { inputs, samples in
            for (kind, statistics) in inputs.sortedSubscribers { samples.add(kind.label, value: statistics.queued) }
        }
        registry.collect(Catalogue.busQueueCapacity) { inputs, samples in
            for (kind, statistics) in inputs.sortedSubscribers { samples.add(kind.label, value: statistics.capacity) }
        }
    }

    func record(_ topic: Event.Topic) { self.published[topic].add() }
}

extension ScrapeInputs {
    fileprivate var sortedSubscribers: [(SubscriberKind, SubscriberStatistics)] {
        SubscriberKind.allCases.compactMap { kind in self.subscribers[kind].map { (kind, $0) } }
    }
}
