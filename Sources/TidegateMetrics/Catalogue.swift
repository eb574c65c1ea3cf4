internal import TidegateCore

/// All metrics.
enum Catalogue {
    // MARK: Tasks

    static let tasks = gauge("tidegate_tasks", by: ["state"], "Tasks that are not over.")
    static let heldTasks = gauge("tidegate_held_tasks", by: ["reason"], "Holds in force on tasks.")
    static let taskHeldSeconds = counter(
        "tidegate_task_held_seconds_total", by: ["reason"], "Time tasks were held, counted when a hold ends.")
    static let taskSubmissions = counter("tidegate_task_submissions_total", by: ["kind"], "Tasks created.")
    static let taskResumes = counter("tidegate_task_resumes_total", "Times the last suspension of a task ended.")
    static let taskSuspends = counter(
        "tidegate_task_suspends_total", by: ["reason"], "Times the first suspension of a task began.")
    static let taskHolds = counter("tidegate_task_holds_total", by: ["reason"], "Holds put on tasks.")
    static let taskCompletions = counter(
        "tidegate_task_completions_total", by: ["kind", "outcome"], "Tasks that are over.")
    static let taskRevalidations = counter(
        "tidegate_task_revalidations_total", "Tasks whose stored response was still current.")
    static let taskFailures = counter(
        "tidegate_task_failures_total", by: ["error_type", "party"],
        "Tasks that failed, by cause and responsible party."
    ).withExemplars()
    static let taskDuration = histogram(
        "tidegate_task_duration_seconds", by: ["kind", "outcome"], bounds: Buckets.tasks,
        "Time from a task's first resume to its end, waits included."
    ).withExemplars()
    static let stalledTasks = gauge(
        "tidegate_stalled_tasks", "Running tasks without a byte for longer than the stall time.")
    static let oldestTaskStart = gauge(
        "tidegate_oldest_task_start_timestamp_seconds", by: ["state"],
        "When the oldest task in the state started or, before its first attempt, was created.")

    // MARK: Attempts

    static let requestAttempts = counter(
        "tidegate_request_attempts_total", by: ["method", "code"],
        "HTTP attempts, by method and status code: \"none\" was sent and not answered, \"unsent\" never was sent."
    ).withExemplars()
    static let requestDuration = histogram(
        "tidegate_request_duration_seconds", by: ["method", "code_class"], bounds: Buckets.requests,
        "Time of one attempt, to its last byte or its failure."
    ).withExemplars()
    static let requestPhaseDuration = histogram(
        "tidegate_request_phase_duration_seconds", by: ["phase"], bounds: Buckets.phases,
        "Time of the phases of attempts; a reused connection has no resolve, connect and tls.")
    static let taskRetries = counter("tidegate_task_retries_total", by: ["reason"], "Retries scheduled.")
    static let taskRetrySuccesses = counter(
        "tidegate_task_retry_successes_total", "Tasks that succeeded after a charged failure.")
    static let taskRetriesExhausted = counter(
        "tidegate_task_retries_exhausted_total", by: ["reason"], "Tasks for which no further retry was allowed.")
    static let taskRetryBackoff = histogram(
        "tidegate_task_retry_backoff_seconds", bounds: Buckets.waits, "Waits chosen before retries.")
    static let retryBudgetTokens = gauge(
        "tidegate_retry_budget_tokens", by: ["host"], "Remaining retry budget (minimum over ports).")
    static let sentBytes = counter("tidegate_sent_bytes_total", by: ["kind"], "Request body bytes sent.")
    static let receivedBytes = counter(
        "tidegate_received_bytes_total", by: ["kind"], "Response body bytes received, before decoding.")
    static let requestBodySize = histogram(
        "tidegate_request_body_size_bytes", bounds: Buckets.sizes, "Request bodies of attempts that succeeded."
    )
    static let responseBodySize = histogram(
        "tidegate_response_body_size_bytes", bounds: Buckets.sizes, "Response bodies of tasks that succeeded.")
    static let inflightExpectedBytes = gauge(
        "tidegate_inflight_expected_bytes", by: ["kind"], "Body bytes that running tasks of known length expect.")
    static let inflightTransferredBytes = gauge(
        "tidegate_inflight_transferred_bytes", by: ["kind"], "Body bytes that those tasks have.")
    static let inflightExpectedSentBytes = gauge(
        "tidegate_inflight_expected_sent_bytes", by: ["kind"],
        "Request body bytes of known length that running tasks send.")
    static let inflightSentBytes = gauge(
        "tidegate_inflight_sent_bytes", by: ["kind"], "Request body bytes that those tasks have sent.")
    static let connections = gauge("tidegate_connections", by: ["state"], "Connections to servers.")
    static let connectionsOpened = counter("tidegate_connections_opened_total", "Connections opened for attempts.")
    static let connectionReuses = counter(
        "tidegate_connection_reuses_total", "Attempts made on a connection that was already open.")
    static let networkEpochs = counter(
        "tidegate_network_epochs_total",
        "Times pooled connections and cached names were dropped because the path changed.")
    static let requestCertificateExpiry = gauge(
        "tidegate_request_certificate_expiry_timestamp_seconds", by: ["host"],
        "When the host's last certificate expires, with the host label; for _other the earliest.")
    static let refetchedBytes = counter(
        "tidegate_refetched_bytes_total", "Bytes received again for offsets already held.")
    static let resumeRestarts = counter("tidegate_resume_restarts_total", "Resumed downloads that had to start again.")

    // MARK: Gate

    static let gateState = gauge(
        "tidegate_gate_state", by: ["state"], "Whether the gate that requires a route is open: exactly one state is 1.")
    static let gateWaitingTasks = gauge("tidegate_gate_waiting_tasks", "Tasks waiting at the gate.")
    static let gateWait = histogram(
        "tidegate_gate_wait_seconds", by: ["result"], bounds: Buckets.waits,
        "Waits at a shut gate; tasks admitted immediately are not observed.")
    static let gateAdmissions = counter(
        "tidegate_gate_admissions_total", by: ["result"], "Tasks that passed the gate or timed out there.")

    // MARK: Reachability

    static let level = gauge(
        "tidegate_reachability_level", by: ["level"], "The global verdict's level: exactly one is 1.")
    static let familyLevel = gauge(
        "tidegate_reachability_family_level", by: ["family", "level"], "The families' levels: exactly one each is 1.")
    static let levelSeconds = counter(
        "tidegate_reachability_level_seconds_total", by: ["level"], "Time spent at each global level.")
    static let transitions = counter(
        "tidegate_reachability_transitions_total", by: ["from", "to"], "Changes of the global level.")
    static let lastTransition = gauge(
        "tidegate_reachability_last_transition_timestamp_seconds", "When the global level last changed.")
    static let reasonInfo = gauge(
        "tidegate_reachability_reason_info", by: ["family", "reason"], "Why a family is not reachable, if it is not.")
    static let outage = gauge(
        "tidegate_outage", by: ["party"],
        "Whether this host's diagnosis names the party; absent before the first diagnosis, all 0 while nothing fails.")
    static let outageStart = gauge(
        "tidegate_outage_start_timestamp_seconds",
        "When the first packet was not answered, while that is checked or fails; absent otherwise.")
    static let segmentRoundTrip = histogram(
        "tidegate_segment_round_trip_seconds", by: ["segment"], bounds: Buckets.roundTrips,
        "Round trips of echoes to a host on the way out, one each ten seconds.")
    static let segmentNormal = gauge(
        "tidegate_segment_normal_round_trip_seconds", by: ["segment"], "Usual round trip to a host on the way out.")
    static let segmentLoss = gauge(
        "tidegate_segment_loss_ratio", by: ["segment"],
        "Share of the last hour's echoes that a host on the way out did not answer.")
    static let segmentDegraded = gauge(
        "tidegate_segment_degraded", by: ["segment", "party"],
        "Whether the slowness of the way out begins there, with the responsible party; absent while nothing is slow.")
    static let targetDegraded = gauge(
        "tidegate_target_degraded", by: ["target", "party"],
        "Whether a target is slow, with the responsible party; absent while it is not.")
    static let rungStatus = gauge(
        "tidegate_rung_status", by: ["family", "rung", "status"],
        "How each rung stood in the latest diagnosis of this host; absent before the first.")
    static let defaultPath = gauge(
        "tidegate_default_path", by: ["family"], "Whether the family's sentinels are routed.")
    static let uplinkUp = gauge(
        "tidegate_uplink_up", by: ["device", "role"],
        "Whether a way out works, on a host with several; absent while that is not known.")
    static let interfaceUp = gauge("tidegate_interface_up", by: ["device"], "Whether the link can carry traffic.")
    static let interfaceCarrier = gauge(
        "tidegate_interface_carrier", by: ["device"], "Whether the link's lower layer has the medium.")
    static let interfaceInfo = gauge(
        "tidegate_interface_info", by: ["device", "type"], "The links and their types; always 1.")
    static let interfaceCarrierLosses = counter(
        "tidegate_interface_carrier_losses_total", by: ["device"],
        "Times the carrier was lost, by the kernel's own counter.")
    static let interfaceErrors = counter(
        "tidegate_interface_errors_total", by: ["device"],
        "Damaged frames, and frames that could not be sent, of the interface of the way out.")
    static let interfaceQueue = gauge(
        "tidegate_interface_queue_bytes", by: ["device"],
        "Bytes that waited in the queue of the interface of the way out, read every ten seconds.")
    static let interfaceQueueDrops = counter(
        "tidegate_interface_queue_drops_total", by: ["device"],
        "Packets that found no room in the queue of the interface of the way out; fq_codel and cake have none.")
    static let wifiSignal = gauge(
        "tidegate_wifi_signal_dbm", by: ["device"], "How strongly a Wi-Fi station receives its access point.")
    static let wifiRetries = counter(
        "tidegate_wifi_retries_total", by: ["device"], "How often a Wi-Fi station sent a frame again.")
    static let targetRouted = gauge(
        "tidegate_target_routed", by: ["target"], "Whether the kernel would send a packet to the configured target.")
    static let targetReachable = gauge(
        "tidegate_target_reachable", by: ["target"],
        "Whether the last check reached the configured target; absent for a target that is not checked.")
    static let targetCheckDuration = histogram(
        "tidegate_target_check_duration_seconds", by: ["target", "stage"], bounds: Buckets.phases,
        "Time of the stages of checks of configured targets.")
    static let targetCheckFailures = counter(
        "tidegate_target_check_failures_total", by: ["target", "party"],
        "Checks that did not reach the configured target, by responsible party.")
    static let targetCertificateExpiry = gauge(
        "tidegate_target_certificate_expiry_timestamp_seconds", by: ["target"],
        "When the configured target's last certificate expires.")
    static let targetLevel = gauge(
        "tidegate_target_level", by: ["target", "level"], "The configured targets' levels: exactly one each is 1.")
    static let detection = histogram(
        "tidegate_reachability_detection_seconds", bounds: Buckets.detection,
        "Time from reading the kernel's message to the verdict that follows from it.")

    // MARK: Incidents

    static let incidents = counter(
        "tidegate_incidents_total", by: ["scope", "kind", "party"],
        "Outages and slow times (kind degraded) that have begun, by responsible party.")
    static let incidentOpen = gauge(
        "tidegate_incident_open", by: ["scope", "kind", "party"],
        "Ongoing outages and slow times (kind degraded), by responsible party.")
    static let incidentSeconds = counter(
        "tidegate_incident_seconds_total", by: ["scope", "kind", "party"],
        "Time in outages and slow times (kind degraded), by responsible party.")
    static let watchedSeconds = counter(
        "tidegate_watched_seconds_total", "Time watched, without suspensions of the machine.")
    static let targetUpSeconds = counter(
        "tidegate_target_up_seconds_total", by: ["target"],
        "Time until the last check in which the configured target was reached.")
    static let targetDownSeconds = counter(
        "tidegate_target_down_seconds_total", by: ["target", "party"],
        "Time in which the configured target was not reached, by responsible party.")

    static let targetObjective = gauge(
        "tidegate_target_objective_ratio", by: ["target"],
        "The target share of time in which the configured target is reachable.")
    static let incidentCommands = counter(
        "tidegate_incident_commands_total", by: ["result"], "Runs of the command for outages.")
    static let info = gauge(
        "tidegate_info", by: ["site", "provider"], "The labels of the configuration; always 1.")

    // MARK: Probes

    static let probeRuns = counter(
        "tidegate_probe_runs_total", by: ["probe", "result"],
        "Runs of scheduled probes; a run is inconclusive if it failed on this host, or if its network, gateway, provider or resolver was down, or not up for long."
    )
    static let probeFailures = counter(
        "tidegate_probe_failures_total", by: ["probe", "party"],
        "Runs of scheduled probes that failed, by responsible party.")
    static let probeOverruns = counter(
        "tidegate_probe_overruns_total", by: ["probe"],
        "Runs of scheduled probes that were skipped because the previous run was not over.")
    static let probeDuration = histogram(
        "tidegate_probe_duration_seconds", by: ["probe"], bounds: Buckets.requests,
        "Time of the runs of scheduled probes that succeeded or failed.")
    static let probeSuccess = gauge(
        "tidegate_probe_success", by: ["probe"],
        "Whether the last conclusive run succeeded; absent before the first.")
    static let probeFailureInfo = gauge(
        "tidegate_probe_failure_info", by: ["probe", "reason", "party"],
        "Why a scheduled probe fails, and the responsible party; absent while it succeeds.")
    static let probeUptime = gauge(
        "tidegate_probe_uptime_ratio", by: ["probe"], "The share of runs that succeeded, without inconclusive ones.")
    static let probeCertificateExpiry = gauge(
        "tidegate_probe_certificate_expiry_timestamp_seconds", by: ["probe"],
        "When the probed server's last certificate expires.")

    // MARK: Netlink

    static let netlinkMessages = counter(
        "tidegate_netlink_messages_total", by: ["type"], "Multicast messages read from the kernel.")
    static let netlinkOverruns = counter(
        "tidegate_netlink_overruns_total", "Times the kernel dropped messages; a resync follows each.")
    static let netlinkResyncs = counter("tidegate_netlink_resyncs_total", by: ["reason"], "Full dumps completed.")
    static let netlinkResyncDuration = histogram(
        "tidegate_netlink_resync_duration_seconds", bounds: Buckets.phases, "Time of full dumps.")
    static let netlinkMalformed = counter("tidegate_netlink_malformed_total", "Malformed netlink messages.")
    static let netlinkLookups = counter("tidegate_netlink_lookups_total", "Route lookups made.")
    static let netlinkMode = gauge(
        "tidegate_netlink_mode", by: ["mode"], "How changes are learned: exactly one mode is 1.")
    static let netlinkReceiveBuffer = gauge(
        "tidegate_netlink_receive_buffer_bytes", "Effective size of the netlink receive buffer.")

    // MARK: Bus and self

    static let busPublished = counter("tidegate_bus_events_published_total", by: ["topic"], "Events published.")
    static let busDropped = counter(
        "tidegate_bus_events_dropped_total", by: ["subscriber"],
        "Events that subscribers lost because newer ones displaced them.")
    static let busQueueLength = gauge(
        "tidegate_bus_queue_length", by: ["subscriber"], "Events waiting for their subscriber.")
    static let busQueueCapacity = gauge(
        "tidegate_bus_queue_capacity", by: ["subscriber"], "Events that could wait for their subscriber.")
    static let metricConflicts = counter(
        "tidegate_metric_conflicts_total", "Metrics of the embedding program rejected because of a clash.")
    static let labelOverflow = counter(
        "tidegate_label_overflow_total", by: ["metric", "label"],
        "Times a label had more values than allowed, so that _other stood for a new one.")
    static let httpRequests = counter(
        "tidegate_http_requests_total", by: ["handler", "code"], "Requests that the endpoint answered.")
    static let httpRequestsInFlight = gauge(
        "tidegate_http_requests_in_flight", "Requests that the endpoint is answering now, this one included.")
    static let journalTasks = gauge(
        "tidegate_journal_tasks", by: ["state"], "Accepted tasks in the journal that are not over.")
    static let journalEntries = counter(
        "tidegate_journal_entries_total", "Entries that became durable in the journal of accepted tasks.")
    static let journalErrors = counter(
        "tidegate_journal_errors_total", by: ["reason"], "Entries that the journal could not write.")
    static let journalLostTasks = counter(
        "tidegate_journal_lost_tasks_total", "Accepted tasks that were missing in the journal when it was opened.")
    static let journalWriteDuration = histogram(
        "tidegate_journal_write_duration_seconds", bounds: Buckets.phases,
        "Time of the journal's transactions, until they were durable.")
    static let remoteWriteSamples = counter(
        "tidegate_remote_write_samples_total", "Samples that the remote-write receiver accepted.")
    static let remoteWriteDropped = counter(
        "tidegate_remote_write_samples_dropped_total", by: ["reason"],
        "Samples that were dropped before the remote-write receiver accepted them.")
    static let remoteWriteFailures = counter(
        "tidegate_remote_write_failures_total", by: ["error_type"],
        "Failed attempts to send samples, which are repeated.")
    static let remoteWritePending = gauge(
        "tidegate_remote_write_pending_bytes", "Size of the samples that wait to be sent.")
    static let configReloadSuccessful = gauge(
        "tidegate_config_last_reload_successful", "Whether the last configuration reload succeeded.")
    static let configReloadTime = gauge(
        "tidegate_config_last_reload_success_timestamp_seconds", "When the configuration was last loaded successfully.")
    static let threadStalled = gauge(
        "tidegate_thread_stalled", by: ["thread"], "Whether the thread has been in one turn for longer than 10 s.")
    static let threadBusy = counter(
        "tidegate_thread_busy_seconds_total", by: ["thread"], "Time in which the thread did not wait.")
    static let threadLongestTurn = gauge(
        "tidegate_thread_longest_turn_seconds", by: ["thread"],
        "The longest time since the start from one wait to the next.")
    static let threadQueueLength = gauge(
        "tidegate_thread_queue_length", by: ["thread"], "Commands that wait for the thread's next turn.")
    static let buildInfo = gauge(
        "tidegate_build_info", by: ["version", "revision", "swiftversion", "arch"], "The running build; always 1.")

    // MARK: Process (with the names and help texts of every Prometheus client)

    static let processCPU = counter("process_cpu_seconds_total", "Total user and system CPU time spent in seconds.")
    static let processOpenDescriptors = gauge("process_open_fds", "Number of open file descriptors.")
    static let processMaxDescriptors = gauge("process_max_fds", "Maximum number of open file descriptors.")
    static let processVirtualMemory = gauge("process_virtual_memory_bytes", "Virtual memory size in bytes.")
    static let processVirtualMemoryMax = gauge(
        "process_virtual_memory_max_bytes", "Maximum amount of virtual memory available in bytes.")
    static let processResidentMemory = gauge("process_resident_memory_bytes", "Resident memory size in bytes.")
    static let processStartTime = gauge(
        "process_start_time_seconds", "Start time of the process since unix epoch in seconds.")
    static let processThreads = gauge("process_threads", "Number of OS threads in the process.")
    static let metricSeries = gauge("tidegate_metric_series", "Samples in this exposition, without this one.")

    // MARK: Observed connections; addresses and ports are never labels

    static let observedConnections = gauge(
        "tidegate_observed_connections", by: ["direction", "state"],
        "TCP connections of other programs when they were last listed.")
    static let observedConnects = counter(
        "tidegate_observed_connects_total", by: ["outcome"], "Connects of other programs, by outcome.")
    static let observedAccepts = counter(
        "tidegate_observed_accepts_total", "Connections to programs of this machine that peers opened.")
    static let observedEnds = counter(
        "tidegate_observed_ends_total", by: ["direction", "outcome"],
        "Established connections of other programs that ended, by outcome.")
    static let observedFailures = counter(
        "tidegate_observed_failures_total", by: ["outcome", "party"],
        "Connections of other programs that failed, by outcome and responsible party.")
    static let observedStalledConnections = gauge(
        "tidegate_observed_stalled_connections", by: ["direction", "kind"],
        "Connections of other programs that hang, by kind.")
    static let observedStalls = counter(
        "tidegate_observed_stalls_total", by: ["direction", "kind"],
        "Times a connection of another program began to hang, by kind.")
    static let observedLastAnswer = gauge(
        "tidegate_observed_last_answer_timestamp_seconds", by: ["scope"],
        "When any remote last answered another program: on the link, in private space or public; absent before.")
    static let observedRoundTrip = histogram(
        "tidegate_observed_min_round_trip_seconds", by: ["scope"],
        bounds: ConnectionStatistics.roundTripBounds,
        "The shortest round trip of each outgoing connection of another program, observed when it ends.")
    static let observedSentSegments = counter(
        "tidegate_observed_sent_segments_total", by: ["direction"],
        "Segments with data that other programs' connections sent, those that were sent again included.")
    static let observedRetransmittedSegments = counter(
        "tidegate_observed_retransmitted_segments_total", by: ["direction"],
        "Segments that other programs' connections sent again.")
    static let observedLimited = counter(
        "tidegate_observed_limited_seconds_total", by: ["by"],
        "How long other programs' connections had data on the way, by what kept them from being faster.")
    static let observedSentBytes = counter(
        "tidegate_observed_sent_bytes_total", by: ["direction"],
        "Bytes that other programs' connections sent, without those that were sent again.")
    static let observedReceivedBytes = counter(
        "tidegate_observed_received_bytes_total", by: ["direction"], "Bytes that other programs' connections received.")
    static let observedTargetConnections = gauge(
        "tidegate_observed_target_connections", by: ["target", "state"],
        "TCP connections of other programs to the configured target when they were last listed.")
    static let observedTargetConnects = counter(
        "tidegate_observed_target_connects_total", by: ["target", "outcome"],
        "Connects of other programs to the configured target, by outcome.")
    static let observedTargetEnds = counter(
        "tidegate_observed_target_ends_total", by: ["target", "outcome"],
        "Established connections of other programs to the configured target that ended, by outcome.")
    static let observedTargetLastAnswer = gauge(
        "tidegate_observed_target_last_answer_timestamp_seconds", by: ["target"],
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
        "timeout_aborts", "Connections that the kernel aborted because nothing was received.")
    static let tcpListenOverflows = kernel(
        "listen_overflows", "Connections of peers that were dropped because a listener's queue was full.")

    private static func kernel(_ name: String, _ help: String) -> MetricDefinition {
        counter("tidegate_tcp_\(name)_total", help)
    }

    // MARK: Observing

    static let observationMode = gauge(
        "tidegate_observation_mode", by: ["mode"],
        "How connections of other programs are observed: exactly one mode is 1.")
    static let observationMessages = counter(
        "tidegate_observation_messages_total", by: ["group"], "Messages of the kernel about sockets that ended.")
    static let observationDropped = counter(
        "tidegate_observation_dropped_total",
        "Messages about sockets that the kernel dropped, because the receive buffer was full.")
    static let observationUnexplained = counter(
        "tidegate_observation_unexplained_total", by: ["kind"],
        "Connects and resets that the kernel counted and that were not observed.")
    static let observationExcluded = counter(
        "tidegate_observation_excluded_total", by: ["kind"],
        "Connects not counted: of this program, of other Tidegate processes, or excluded by the configuration.")
    static let observationDumpDuration = histogram(
        "tidegate_observation_dump_duration_seconds", by: ["kind"],
        bounds: ConnectionStatistics.dumpBounds, "Time taken to list sockets.")
    static let observationTracked = gauge(
        "tidegate_observation_tracked_connections", "Tracked connections of other programs.")
    static let observationReceiveBuffer = gauge(
        "tidegate_observation_receive_buffer_bytes", "Effective size of the receive buffer for messages about sockets.")

    // MARK: Definitions

    static func counter(_ name: String, by labels: [String] = [], _ help: String) -> MetricDefinition {
        self.definition(name, .counter, labels, help)
    }

    static func gauge(_ name: String, by labels: [String] = [], _ help: String) -> MetricDefinition {
        self.definition(name, .gauge, labels, help)
    }

    static func histogram(
        _ name: String, by labels: [String] = [], bounds: [Double], _ help: String
    ) -> MetricDefinition {
        self.definition(name, .histogram(bounds), labels, help)
    }

    // A name ends in its unit, or in the unit and `_total` for a counter.
    private static func definition(
        _ name: String, _ kind: MetricDefinition.Kind, _ labels: [String], _ help: String
    ) -> MetricDefinition {
        let family = name.hasSuffix("_total") ? name.dropLast(6) : name[...]
        let unit = [MetricDefinition.Unit.seconds, .bytes].first { family.hasSuffix("_\($0.rawValue)") }
        return MetricDefinition(name: name, help: help, kind: kind, unit: unit ?? .none, labels: labels)
    }
}
