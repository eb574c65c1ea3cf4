internal import TidegateCore

/// What one evaluation found out apart from targets.
struct FamilyEvaluation {
    /// IPv4, then IPv6; from routes alone, without internet checks.
    var families: [ReachabilityStatus.Family]
    /// The best verdict over the configured resolvers.
    var resolvers: Verdict
    /// How many routes were looked up.
    var lookups: Int
}
