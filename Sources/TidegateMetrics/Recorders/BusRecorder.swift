internal import TidegateCore

/// Records the events of the bus by topic, and what its subscribers hold and lose.
struct BusRecorder: Sendable {
    private let published: FixedLabelFamily<Event.Topic, Counter>

    init(_ registry: Registry) {
        self.published = registry.adding(FixedLabelFamily(Catalogue.busPublished))
        registry.collect(Catalogue.busDropped) { inputs, samples in
            for subscriber in inputs.subscribers { samples.add(subscriber.label, value: subscriber.dropped) }
        }
        registry.collect(Catalogue.busQueueLength) { inputs, samples in
            for subscriber in inputs.subscribers { samples.add(subscriber.label, value: subscriber.queued) }
        }
        registry.collect(Catalogue.busQueueCapacity) { inputs, samples in
            for subscriber in inputs.subscribers { samples.add(subscriber.label, value: subscriber.capacity) }
        }
    }

    func record(_ topic: Event.Topic) { self.published[topic].add() }
}
