internal import TidegateAttribution
internal import TidegateCore

/// The result of a diagnosis of the whole host.
package struct HostFindings: Sendable {
    /// The ladders and the conclusion.
    var explanation: Explanation
    /// The evidence about each family's gateway and about what lies beyond it.
    var evidence: [AddressFamily: SilenceEvidence] = [:]
    /// The gateway of each family's default path.
    var gateways: [AddressFamily: IPAddress]
    /// The families over which the internet check URLs answer.
    var answering: [AddressFamily]
}
