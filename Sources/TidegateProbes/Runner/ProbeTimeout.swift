package import TidegateCore

/// How long a probe may take.
package enum ProbeTimeout {
    /// Of a scrape that does not say how long it may take, as blackbox_exporter has it.
    private static let unknown = 120.0
    /// No scrape takes longer than a day.
    private static let longest = 86_400.0

    /// The module's timeout or what is left of the scrape's after `offset`, whichever is shorter.
    ///
    /// - Throws: ``ProbeRefusal/badTimeout(_:)`` if the scrape's is no number of seconds.
    package static func limit(
        module: Duration?, scrape: String?, offset: Duration
    ) throws(ProbeRefusal) -> Duration {
        var seconds = 0.0
        if let scrape, !scrape.isEmpty {
            guard let number = Double(scrape), number.isFinite else { throw .badTimeout(scrape) }
            seconds = number
        }
        let most = (seconds == 0 ? Self.unknown : seconds) - offset.inSeconds
        let own = module?.inSeconds ?? 0
        return .seconds(min(own > 0 && own < most || most < 0 ? own : most, Self.longest))
    }
}
