package import TidegateCore

extension ScrapeInputs {
    /// Reads everything from a monitor; `streams` are those of an endpoint, which are not on the bus.
    package init(
        of view: any MonitorView, bus: EventBus, time: any TimeSource, targetNames: [Target: String],
        streams: SubscriberStatistics? = nil, requestsInFlight: Int = 0
    ) {
        var statistics = bus.statistics()
        if let streams { statistics[.sse]?.add(streams) }
        let subscribers = statistics.map { kind, statistics in
            Subscriber(
                label: kind.label, queued: statistics.queued, capacity: statistics.capacity,
                dropped: statistics.dropped)
        }
        self.init(
            now: time.monotonic(), status: view.status, targetNames: targetNames, session: view.sessionStatistics(),
            subscribers: subscribers.sorted { $0.label < $1.label }, process: ProcessReader(time: time).sample(),
            requestsInFlight: requestsInFlight)
    }
}
