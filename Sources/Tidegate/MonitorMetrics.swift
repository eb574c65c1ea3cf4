public import CoreMetrics
internal import TidegateCore
public import TidegateMetrics

/// The metrics of one ``Monitor``.
public struct MonitorMetrics: Sendable {
    let monitor: Monitor

    /// The exposition that `/metrics` would serve now.
    ///
    /// It has the process's own figures, and of the targets only those of the configuration.
    public func exposition(for format: ExpositionFormat = .openMetrics) -> String {
        String(decoding: self.encodedExposition(for: format), as: UTF8.self)
    }

    /// As ``exposition(for:)``, in bytes, which the protobuf format needs.
    public func encodedExposition(for format: ExpositionFormat) -> [UInt8] {
        let monitor = self.monitor
        let inputs = ScrapeInputs(
            of: monitor, bus: monitor.bus, time: monitor.time, targetNames: monitor.configuration.namesOfTargets)
        return monitor.recorder.exposition(of: inputs, in: format)
    }

    /// A factory for swift-metrics, so that what the program itself measures appears in the same exposition.
    ///
    /// It never traps. A metric that clashes with another in name or kind gets a handler that does nothing; `onConflict`
    /// is called once for each such name, with a sentence without a final full stop.
    public func factory(onConflict: @escaping @Sendable (String) -> Void = { _ in }) -> any MetricsFactory {
        self.monitor.recorder.adapter(onConflict: onConflict)
    }
}
