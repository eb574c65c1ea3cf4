package import HTTPTypes

/// Which service the prober `grpc` asks about, and how.
package struct GRPCProbeOptions: Sendable, Hashable {
    /// The service whose health is asked for; empty for that of the whole server.
    package var service = ""
    package var family = FamilyPreference()
    /// Whether the connection is encrypted.
    package var usesTLS = false
    package var tls = ProbeTLSOptions()
    /// What else the call carries; values may be secrets.
    package var metadata: [HTTPField] = []

    /// blackbox_exporter's defaults.
    package init() {}
}
