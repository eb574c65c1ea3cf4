/// Every metric, once.
package enum Catalogue {
    // MARK: Tasks

    static let tasks = MetricDefinition.gauge("tidegate_tasks", by: ["state"], "Tasks that are not over.")
    static let heldTasks = MetricDefinition.gauge("tidegate_held_tasks", by: ["reason"], "Holds in force on tasks.")
    static let taskHeldSeconds = MetricDefinition.counter(
        "tidegate_task_held_seconds_total", in: .seconds, by: ["reason"],
        "Time tasks were held, counted when a hold ends.")
    static let taskSubmissions = MetricDefinition.counter(
        "tidegate_task_submissions_total", by: ["kind"], "Tasks created.")
    static let taskResumes = MetricDefinition.counter(
        "tidegate_task_resumes_total", "Times the last suspension of a task ended.")
    static let taskSuspends = MetricDefinition.counter(
        "tidegate_task_suspends_total", by: ["reason"], "Times the first suspension of a task began.")
    static let taskHolds = MetricDefinition.counter("tidegate_task_holds_total", by: ["reason"], "Holds put on tasks.")
    static let taskCompletions = MetricDefinition.counter(
        "tidegate_task_completions_total", by: ["kind", "outcome"], "Tasks that are over.")
    static let taskFailures = MetricDefinition.counter(
        "tidegate_task_failures_total", by: ["error_type", "party"],
        "Tasks that failed, by cause and whose failure it was."
    ).withExemplars()
    static let taskDuration = MetricDefinition.histogram(
        "tidegate_task_duration_seconds", in: .seconds, by: ["kind", "outcome"], bounds: Buckets.tasks,
        "Time from a task's first resume to its end, waits included."
    ).withExemplars()
    static let stalledTasks = MetricDefinition.gauge(
        "tidegate_stalled_tasks", "Running tasks without a byte for longer than the stall time.")
    static let oldestTaskStart = MetricDefinition.gauge(
        "tidegate_oldest_task_start_timestamp_seconds", in: .seconds, by: ["state"],
        "When the oldest task in the state started or, before its first attempt, was created.")

    // MARK: Attempts

    static let requestAttempts = MetricDefinition.counter(
        "tidegate_request_attempts_total", by: ["method", "code"],
        "HTTP attempts, by method and status code: \"none\" was sent and not answered, \"unsent\" never was sent."
    ).withExemplars()
    static let requestDuration = MetricDefinition.histogram(
        "tidegate_request_duration_seconds", in: .seconds, by: ["method", "code_class"], bounds: Buckets.requests,
        "Time of one attempt, to its last byte or its failure."
    ).withExemplars()
    static let requestPhaseDuration = MetricDefinition.histogram(
        "tidegate_request_phase_duration_seconds", in: .seconds, by: ["phase"], bounds: Buckets.phases,
        "Time of the phases of attempts; a reused connection has no resolve, connect and tls.")
    static let taskRetries = MetricDefinition.counter(
        "tidegate_task_retries_total", by: ["reason"], "Retries scheduled.")
    static let taskRetrySuccesses = MetricDefinition.counter(
        "tidegate_task_retry_successes_total", "Tasks that succeeded after a charged failure.")
    static let taskRetriesExhausted = MetricDefinition.counter(
        "tidegate_task_retries_exhausted_total", by: ["reason"], "Tasks for which no further retry was allowed.")
    static let taskRetryBackoff = MetricDefinition.histogram(
        "tidegate_task_retry_backoff_seconds", in: .seconds, bounds: Buckets.waits, "Waits chosen before retries."
    )
    static let retryBudgetTokens = MetricDefinition.gauge(
        "tidegate_retry_budget_tokens", by: ["host"], "Remaining retry budget (minimum over ports).")
    static let sentBytes = MetricDefinition.counter(
        "tidegate_sent_bytes_total", in: .bytes, by: ["kind"], "Request body bytes sent.")
    static let receivedBytes = MetricDefinition.counter(
        "tidegate_received_bytes_total", in: .bytes, by: ["kind"], "Response body bytes received, before decoding.")
    static let requestBodySize = MetricDefinition.histogram(
        "tidegate_request_body_size_bytes", in: .bytes, bounds: Buckets.sizes,
        "Request bodies of attempts that succeeded."
    )
    static let responseBodySize = MetricDefinition.histogram(
        "tidegate_response_body_size_bytes", in: .bytes, bounds: Buckets.sizes,
        "Response bodies of tasks that succeeded.")
    static let inflightExpectedBytes = MetricDefinition.gauge(
        "tidegate_inflight_expected_bytes", in: .bytes, by: ["kind"],
        "Body bytes that running tasks of known length expect.")
    static let inflightTransferredBytes = MetricDefinition.gauge(
        "tidegate_inflight_transferred_bytes", in: .bytes, by: ["kind"], "Body bytes that those tasks have.")
    static let inflightExpectedSentBytes = MetricDefinition.gauge(
        "tidegate_inflight_expected_sent_bytes", in: .bytes, by: ["kind"],
        "Request body bytes of known length that running tasks send.")
    static let inflightSentBytes = MetricDefinition.gauge(
        "tidegate_inflight_sent_bytes", in: .bytes, by: ["kind"], "Request body bytes that those tasks have sent.")
    static let connections = MetricDefinition.gauge("tidegate_connections", by: ["state"], "Connections to servers.")
    static let connectionsOpened = MetricDefinition.counter(
        "tidegate_connections_opened_total", "Connections opened for attempts.")
    static let connectionReuses = MetricDefinition.counter(
        "tidegate_connection_reuses_total", "Attempts made on a connection that was already open.")
    static let networkEpochs = MetricDefinition.counter(
        "tidegate_network_epochs_total",
        "Times pooled connections and cached names were dropped because the path changed.")
    static let requestCertificateExpiry = MetricDefinition.gauge(
        "tidegate_request_certificate_expiry_timestamp_seconds", in: .seconds, by: ["host"],
        "When the certificate ends that the host showed last, with the host label; the first to end of _other.")
    static let refetchedBytes = MetricDefinition.counter(
        "tidegate_refetched_bytes_total", in: .bytes, "Bytes received again for offsets already held.")
    static let resumeRestarts = MetricDefinition.counter(
        "tidegate_resume_restarts_total", "Resumed downloads that had to start again.")

    // MARK: Gate

    static let gateState = MetricDefinition.gauge(
        "tidegate_gate_state", by: ["state"], "Whether the gate that requires a route is open: exactly one state is 1.")
    static let gateWaitingTasks = MetricDefinition.gauge("tidegate_gate_waiting_tasks", "Tasks waiting at the gate.")
    static let gateWait = MetricDefinition.histogram(
        "tidegate_gate_wait_seconds", in: .seconds, by: ["result"], bounds: Buckets.waits,
        "Waits at a gate that was shut; tasks let through at once are not observed.")
    static let gateAdmissions = MetricDefinition.counter(
        "tidegate_gate_admissions_total", by: ["result"], "Tasks that passed the gate or timed out there.")

    // MARK: Reachability

    static let level = MetricDefinition.gauge(
        "tidegate_reachability_level", by: ["level"], "The global verdict's level: exactly one is 1.")
    static let familyLevel = MetricDefinition.gauge(
        "tidegate_reachability_family_level", by: ["family", "level"], "The families' levels: exactly one each is 1.")
    static let levelSeconds = MetricDefinition.counter(
        "tidegate_reachability_level_seconds_total", in: .seconds, by: ["level"], "Time spent at each global level.")
    static let transitions = MetricDefinition.counter(
        "tidegate_reachability_transitions_total", by: ["from", "to"], "Changes of the global level.")
    static let lastTransition = MetricDefinition.gauge(
        "tidegate_reachability_last_transition_timestamp_seconds", in: .seconds, "When the global level last changed.")
    static let reasonInfo = MetricDefinition.gauge(
        "tidegate_reachability_reason_info", by: ["family", "reason"], "Why a family is not reachable, if it is not."
    )
    static let rungStatus = MetricDefinition.gauge(
        "tidegate_rung_status", by: ["family", "rung", "status"],
        "How each rung stood in the latest diagnosis of this host; absent before the first.")
    static let defaultPath = MetricDefinition.gauge(
        "tidegate_default_path", by: ["family"], "Whether the family's sentinels are routed.")
    static let interfaceUp = MetricDefinition.gauge(
        "tidegate_interface_up", by: ["device"], "Whether the link can carry traffic.")
    static let interfaceCarrier = MetricDefinition.gauge(
        "tidegate_interface_carrier", by: ["device"], "Whether the link's lower layer has the medium.")
    static let interfaceInfo = MetricDefinition.gauge(
        "tidegate_interface_info", by: ["device", "type"], "The links and their types; always 1.")
    static let interfaceCarrierLosses = MetricDefinition.counter(
        "tidegate_interface_carrier_losses_total", by: ["device"],
        "Times the carrier was lost, by the kernel's own counter.")
    static let targetRouted = MetricDefinition.gauge(
        "tidegate_target_routed", by: ["target"], "Whether the kernel would send a packet to the configured target.")
    static let targetReachable = MetricDefinition.gauge(
        "tidegate_target_reachable", by: ["target"],
        "Whether the last check reached the configured target; absent for a target that is not checked.")
    static let targetCheckDuration = MetricDefinition.histogram(
        "tidegate_target_check_duration_seconds", in: .seconds, by: ["target", "stage"], bounds: Buckets.phases,
        "Time of the stages of checks of configured targets.")
    static let targetCheckFailures = MetricDefinition.counter(
        "tidegate_target_check_failures_total", by: ["target", "party"],
        "Checks that did not reach the configured target, by whose failure it was.")
    static let targetCertificateExpiry = MetricDefinition.gauge(
        "tidegate_target_certificate_expiry_timestamp_seconds", in: .seconds, by: ["target"],
        "When the certificate ends that the configured target showed last.")
    static let targetLevel = MetricDefinition.gauge(
        "tidegate_target_level", by: ["target", "level"], "The configured targets' levels: exactly one each is 1.")
    static let detection = MetricDefinition.histogram(
        "tidegate_reachability_detection_seconds", in: .seconds, bounds: Buckets.detection,
        "Time from reading the kernel's message to the verdict that follows from it.")

    // MARK: Probes

    static let probeRuns = MetricDefinition.counter(
        "tidegate_probe_runs_total", by: ["probe", "result"],
        "Runs of scheduled probes; a run is inconclusive if this host's own network, its gateway, its provider or its resolver was down, or not up for long."
    )
    static let probeFailures = MetricDefinition.counter(
        "tidegate_probe_failures_total", by: ["probe", "party"],
        "Runs of scheduled probes that failed, by whose failure it was.")
    static let probeOverruns = MetricDefinition.counter(
        "tidegate_probe_overruns_total", by: ["probe"],
        "Turns of scheduled probes that were left out because the run before was not over.")
    static let probeDuration = MetricDefinition.histogram(
        "tidegate_probe_duration_seconds", in: .seconds, by: ["probe"], bounds: Buckets.requests,
        "Time of the runs of scheduled probes that succeeded or failed.")
    static let probeSuccess = MetricDefinition.gauge(
        "tidegate_probe_success", by: ["probe"],
        "Whether the last run succeeded that was not inconclusive; absent before the first.")
    static let probeFailureInfo = MetricDefinition.gauge(
        "tidegate_probe_failure_info", by: ["probe", "reason", "party"],
        "Why a scheduled probe fails, and whose failure it is; absent while it succeeds.")
    static let probeUptime = MetricDefinition.gauge(
        "tidegate_probe_uptime_ratio", by: ["probe"], "The share of runs that succeeded, without inconclusive ones.")
    static let probeCertificateExpiry = MetricDefinition.gauge(
        "tidegate_probe_certificate_expiry_timestamp_seconds", in: .seconds, by: ["probe"],
        "When the certificate ends that the probed server showed last.")

    // MARK: Netlink

    static let netlinkMessages = MetricDefinition.counter(
        "tidegate_netlink_messages_total", by: ["type"], "Multicast messages read from the kernel.")
    static let netlinkOverruns = MetricDefinition.counter(
        "tidegate_netlink_overruns_total", "Times the kernel dropped messages; a resync follows each.")
    static let netlinkResyncs = MetricDefinition.counter(
        "tidegate_netlink_resyncs_total", by: ["reason"], "Full dumps completed.")
    static let netlinkResyncDuration = MetricDefinition.histogram(
        "tidegate_netlink_resync_duration_seconds", in: .seconds, bounds: Buckets.phases, "Time of full dumps.")
    static let netlinkMalformed = MetricDefinition.counter(
        "tidegate_netlink_malformed_total", "Malformed netlink messages.")
    static let netlinkLookups = MetricDefinition.counter("tidegate_netlink_lookups_total", "Route lookups made.")
    static let netlinkMode = MetricDefinition.gauge(
        "tidegate_netlink_mode", by: ["mode"], "How changes are learned: exactly one mode is 1.")
    static let netlinkReceiveBuffer = MetricDefinition.gauge(
        "tidegate_netlink_receive_buffer_bytes", in: .bytes, "Effective size of the netlink receive buffer.")

    // MARK: Bus and self

    static let busPublished = MetricDefinition.counter(
        "tidegate_bus_events_published_total", by: ["topic"], "Events published.")
    static let busDropped = MetricDefinition.counter(
        "tidegate_bus_events_dropped_total", by: ["subscriber"],
        "Events that subscribers lost because newer ones displaced them.")
    static let busQueueLength = MetricDefinition.gauge(
        "tidegate_bus_queue_length", by: ["subscriber"], "Events waiting for their subscriber.")
    static let busQueueCapacity = MetricDefinition.gauge(
        "tidegate_bus_queue_capacity", by: ["subscriber"], "Events that could wait for their subscriber.")
    static let metricConflicts = MetricDefinition.counter(
        "tidegate_metric_conflicts_total", "Metrics of the embedding program refused because of a clash.")
    static let labelOverflow = MetricDefinition.counter(
        "tidegate_label_overflow_total", by: ["metric", "label"],
        "Times a label had more values than allowed, so that _other stood for a new one.")
    static let httpRequests = MetricDefinition.counter(
        "tidegate_http_requests_total", by: ["handler", "code"], "Requests that the endpoint answered.")
    static let httpRequestsInFlight = MetricDefinition.gauge(
        "tidegate_http_requests_in_flight", "Requests that the endpoint is answering now, this one included.")
    static let journalTasks = MetricDefinition.gauge(
        "tidegate_journal_tasks", by: ["state"], "Accepted tasks in the journal that are not over.")
    static let journalEntries = MetricDefinition.counter(
        "tidegate_journal_entries_total", "Entries that became durable in the journal of accepted tasks.")
    static let journalErrors = MetricDefinition.counter(
        "tidegate_journal_errors_total", by: ["reason"], "Entries that the journal could not write.")
    static let journalWriteDuration = MetricDefinition.histogram(
        "tidegate_journal_write_duration_seconds", in: .seconds, bounds: Buckets.phases,
        "Time of the journal's transactions, until they were durable.")
    static let remoteWriteSamples = MetricDefinition.counter(
        "tidegate_remote_write_samples_total", "Samples that the remote-write receiver has taken.")
    static let remoteWriteDropped = MetricDefinition.counter(
        "tidegate_remote_write_samples_dropped_total", by: ["reason"],
        "Samples that were dropped before the remote-write receiver took them.")
    static let remoteWriteFailures = MetricDefinition.counter(
        "tidegate_remote_write_failures_total", by: ["error_type"],
        "Failed attempts to send samples, which are repeated.")
    static let remoteWritePending = MetricDefinition.gauge(
        "tidegate_remote_write_pending_bytes", in: .bytes, "Size of the samples that wait to be sent.")
    static let configReloadSuccessful = MetricDefinition.gauge(
        "tidegate_config_last_reload_successful", "Whether the last configuration reload succeeded.")
    static let configReloadTime = MetricDefinition.gauge(
        "tidegate_config_last_reload_success_timestamp_seconds", in: .seconds,
        "When the configuration was last loaded successfully.")
    static let threadStalled = MetricDefinition.gauge(
        "tidegate_thread_stalled", by: ["thread"], "Whether the thread has been in one turn for longer than 10 s.")
    static let buildInfo = MetricDefinition.gauge(
        "tidegate_build_info", by: ["version", "revision", "swiftversion", "arch"], "The running build; always 1.")

    // MARK: Process (names and sentences as every Prometheus client has them)

    static let processCPU = MetricDefinition.counter(
        "process_cpu_seconds_total", in: .seconds, "Total user and system CPU time spent in seconds.")
    static let processOpenDescriptors = MetricDefinition.gauge("process_open_fds", "Number of open file descriptors.")
    static let processMaxDescriptors = MetricDefinition.gauge(
        "process_max_fds", "Maximum number of open file descriptors.")
    static let processVirtualMemory = MetricDefinition.gauge(
        "process_virtual_memory_bytes", in: .bytes, "Virtual memory size in bytes.")
    static let processVirtualMemoryMax = MetricDefinition.gauge(
        "process_virtual_memory_max_bytes", in: .bytes, "Maximum amount of virtual memory available in bytes.")
    static let processResidentMemory = MetricDefinition.gauge(
        "process_resident_memory_bytes", in: .bytes, "Resident memory size in bytes.")
    static let processStartTime = MetricDefinition.gauge(
        "process_start_time_seconds", in: .seconds, "Start time of the process since unix epoch in seconds.")
    static let processThreads = MetricDefinition.gauge("process_threads", "Number of OS threads in the process.")
    static let metricSeries = MetricDefinition.gauge(
        "tidegate_metric_series", "Samples in this exposition, without this one.")
}
