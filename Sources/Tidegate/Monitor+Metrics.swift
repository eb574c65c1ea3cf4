public import CoreMetrics
internal import TidegateMetrics

extension Monitor {
    /// A factory for swift-metrics, so that what the program itself measures appears in the same exposition.
    ///
    /// It never traps. A metric that clashes with another in name or kind gets a handler that does nothing; `onConflict`
    /// hears of each such name once, in one sentence without a final full stop.
    public func metricsFactory(onConflict: @escaping @Sendable (String) -> Void = { _ in }) -> any MetricsFactory {
        self.recorder.adapter(onConflict: onConflict)
    }
}
