internal import TidegateCore

/// What is observed of the connections of other programs; addresses and ports are never labels.
extension Catalogue {
    // MARK: Observed connections

    static let observedConnections = MetricDefinition.gauge(
        "tidegate_observed_connections", by: ["direction", "state"],
        "TCP connections of other programs when they were last listed.")
    static let observedConnects = MetricDefinition.counter(
        "tidegate_observed_connects_total", by: ["outcome"], "Connects of other programs, by what became of them.")
    static let observedAccepts = MetricDefinition.counter(
        "tidegate_observed_accepts_total", "Connections to programs of this machine that peers opened.")
    static let observedEnds = MetricDefinition.counter(
        "tidegate_observed_ends_total", by: ["direction", "outcome"],
        "Established connections of other programs that ended, by how.")
    static let observedFailures = MetricDefinition.counter(
        "tidegate_observed_failures_total", by: ["outcome", "party"],
        "Connections of other programs that failed, by what became of them and whose failure it was.")
    static let observedStalledConnections = MetricDefinition.gauge(
        "tidegate_observed_stalled_connections", by: ["direction", "kind"],
        "Connections of other programs that hang, by how.")
    static let observedStalls = MetricDefinition.counter(
        "tidegate_observed_stalls_total", by: ["direction", "kind"],
        "Times a connection of another program began to hang, by how.")
    static let observedLastAnswer = MetricDefinition.gauge(
        "tidegate_observed_last_answer_timestamp_seconds", in: .seconds, by: ["scope"],
        "When any remote last answered another program: on the link, in private space or public; absent before.")
    static let observedRoundTrip = MetricDefinition.histogram(
        "tidegate_observed_min_round_trip_seconds", in: .seconds, by: ["scope"],
        bounds: ConnectionStatistics.roundTripBounds,
        "The shortest round trip of each outgoing connection of another program, observed when it ends.")
    static let observedSentSegments = MetricDefinition.counter(
        "tidegate_observed_sent_segments_total", by: ["direction"],
        "Segments with data that other programs' connections sent, those that were sent again included.")
    static let observedRetransmittedSegments = MetricDefinition.counter(
        "tidegate_observed_retransmitted_segments_total", by: ["direction"],
        "Segments that other programs' connections sent again.")
    static let observedSentBytes = MetricDefinition.counter(
        "tidegate_observed_sent_bytes_total", in: .bytes, by: ["direction"],
        "Bytes that other programs' connections sent, without those that were sent again.")
    static let observedReceivedBytes = MetricDefinition.counter(
        "tidegate_observed_received_bytes_total", in: .bytes, by: ["direction"],
        "Bytes that other programs' connections received.")
    static let observedTargetConnections = MetricDefinition.gauge(
        "tidegate_observed_target_connections", by: ["target", "state"],
        "TCP connections of other programs to the configured target when they were last listed.")
    static let observedTargetConnects = MetricDefinition.counter(
        "tidegate_observed_target_connects_total", by: ["target", "outcome"],
        "Connects of other programs to the configured target, by what became of them.")
    static let observedTargetEnds = MetricDefinition.counter(
        "tidegate_observed_target_ends_total", by: ["target", "outcome"],
        "Established connections of other programs to the configured target that ended, by how.")
    static let observedTargetLastAnswer = MetricDefinition.gauge(
        "tidegate_observed_target_last_answer_timestamp_seconds", in: .seconds, by: ["target"],
        "When the configured target last answered another program; absent before.")

    // MARK: The kernel's own counters

    static let tcpActiveOpens = kernel("active_opens", "Connects of all programs, as the kernel counts them.")
    static let tcpPassiveOpens = kernel("passive_opens", "Connections that peers opened, as the kernel counts them.")
    static let tcpAttemptFails = kernel("attempt_fails", "Connects that failed, as the kernel counts them.")
    static let tcpEstablishedResets = kernel(
        "established_resets", "Established connections that either side reset, as the kernel counts them.")
    static let tcpSentResets = kernel("sent_resets", "Resets that this machine sent, as the kernel counts them.")
    static let tcpRetransmittedSegments = kernel(
        "retransmitted_segments", "Segments that were sent again, as the kernel counts them.")
    static let tcpSYNRetransmits = kernel(
        "syn_retransmits", "Segments that open connections and were sent again, as the kernel counts them.")
    static let tcpTimeoutAborts = kernel(
        "timeout_aborts", "Connections that the kernel gave up because nothing came back.")
    static let tcpListenOverflows = kernel(
        "listen_overflows", "Connections of peers that were dropped because a listener's queue was full.")

    private static func kernel(_ name: String, _ help: String) -> MetricDefinition {
        .counter("tidegate_tcp_\(name)_total", help)
    }

    // MARK: Observing

    static let observationMode = MetricDefinition.gauge(
        "tidegate_observation_mode", by: ["mode"],
        "How connections of other programs are observed: exactly one mode is 1.")
    static let observationMessages = MetricDefinition.counter(
        "tidegate_observation_messages_total", by: ["group"], "Messages of the kernel about sockets that ended.")
    static let observationDropped = MetricDefinition.counter(
        "tidegate_observation_dropped_total",
        "Messages about sockets that the kernel dropped, because the receive buffer was full.")
    static let observationUnexplained = MetricDefinition.counter(
        "tidegate_observation_unexplained_total", by: ["kind"],
        "Connects and resets that the kernel counted and that were not observed.")
    static let observationDumpDuration = MetricDefinition.histogram(
        "tidegate_observation_dump_duration_seconds", in: .seconds, by: ["kind"],
        bounds: ConnectionStatistics.dumpBounds, "Time of lists of sockets.")
    static let observationTracked = MetricDefinition.gauge(
        "tidegate_observation_tracked_connections", "Connections of other programs that are kept in mind.")
    static let observationReceiveBuffer = MetricDefinition.gauge(
        "tidegate_observation_receive_buffer_bytes", in: .bytes,
        "Effective size of the receive buffer for messages about sockets.")
}
