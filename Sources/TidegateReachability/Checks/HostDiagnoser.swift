/// Diagnoses the way out of this host; provided by the creator of the monitor.
package protocol HostDiagnoser: Sendable {
    /// Diagnoses once, within `limit`.
    func diagnoseHost(within limit: Duration) async -> HostFindings
}
