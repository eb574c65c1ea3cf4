import Testing
import TidegateTestKit

/// Outages as people meet them, in a lab that is built once: each names the rung, the party, and what to do.
@Suite(
    .serialized, .situationLab, .timeLimit(.minutes(10)),
    .enabled(if: NetworkNamespace.isAvailable, "network namespaces need root and ip(8)"))
enum Situations {
    /// The lab, which the suite's trait has built.
    static func lab() throws -> SituationLab { try #require(SituationLab.current) }

    /// A web page at a healthy server, with a name in both families.
    static let page = "http://www.example/"
}
