/// What observes the connections of other programs.
package protocol ConnectionObservation: Sendable {
    /// What is known of them now.
    func report() async -> ConnectionsReport
    /// What has been counted since they are observed.
    var statistics: ConnectionStatistics { get }
}
