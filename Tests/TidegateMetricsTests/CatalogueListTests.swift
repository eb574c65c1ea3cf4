import Testing
import TidegateCore

@testable import TidegateMetrics

/// The catalogue written down by hand, so that no metric is added or removed or changes its labels unnoticed.
@Suite struct CatalogueListTests {
    private static let expected = """
        tidegate_tasks gauge state
        tidegate_held_tasks gauge reason
        tidegate_task_held_seconds_total counter reason
        tidegate_task_submissions_total counter kind
        tidegate_task_resumes_total counter
        tidegate_task_suspends_total counter reason
        tidegate_task_holds_total counter reason
        tidegate_task_completions_total counter kind outcome
        tidegate_task_failures_total counter error_type party
        tidegate_task_duration_seconds histogram kind outcome
        tidegate_stalled_tasks gauge
        tidegate_oldest_task_start_timestamp_seconds gauge state
        tidegate_request_attempts_total counter method code host
        tidegate_request_duration_seconds histogram method code_class host
        tidegate_request_phase_duration_seconds histogram phase
        tidegate_task_retries_total counter reason
        tidegate_task_retry_successes_total counter
        tidegate_task_retries_exhausted_total counter reason
        tidegate_task_retry_backoff_seconds histogram
        tidegate_sent_bytes_total counter kind
        tidegate_received_bytes_total counter kind
        tidegate_request_body_size_bytes histogram
        tidegate_response_body_size_bytes histogram
        tidegate_inflight_expected_bytes gauge kind
        tidegate_inflight_expected_sent_bytes gauge kind
        tidegate_inflight_sent_bytes gauge kind
        tidegate_inflight_transferred_bytes gauge kind
        tidegate_connections gauge state
        tidegate_connections_opened_total counter
        tidegate_connection_reuses_total counter
        tidegate_network_epochs_total counter
        tidegate_refetched_bytes_total counter
        tidegate_resume_restarts_total counter
        tidegate_retry_budget_tokens gauge host
        tidegate_gate_state gauge state
        tidegate_gate_waiting_tasks gauge
        tidegate_gate_wait_seconds histogram result
        tidegate_gate_admissions_total counter result
        tidegate_reachability_level gauge level
        tidegate_reachability_family_level gauge family level
        tidegate_reachability_level_seconds_total counter level
        tidegate_reachability_transitions_total counter from to
        tidegate_reachability_last_transition_timestamp_seconds gauge
        tidegate_reachability_reason_info gauge family reason
        tidegate_outage gauge party
        tidegate_outage_start_timestamp_seconds gauge
        tidegate_segment_round_trip_seconds histogram segment
        tidegate_segment_normal_round_trip_seconds gauge segment
        tidegate_segment_loss_ratio gauge segment
        tidegate_segment_degraded gauge segment party
        tidegate_target_degraded gauge target party
        tidegate_rung_status gauge family rung status
        tidegate_default_path gauge family
        tidegate_uplink_up gauge device role
        tidegate_interface_up gauge device
        tidegate_interface_carrier gauge device
        tidegate_interface_info gauge device type
        tidegate_interface_carrier_losses_total counter device
        tidegate_interface_errors_total counter device
        tidegate_interface_queue_bytes gauge device
        tidegate_interface_queue_drops_total counter device
        tidegate_wifi_signal_dbm gauge device
        tidegate_wifi_retries_total counter device
        tidegate_target_routed gauge target
        tidegate_target_reachable gauge target
        tidegate_target_check_duration_seconds histogram target stage
        tidegate_request_certificate_expiry_timestamp_seconds gauge host
        tidegate_target_check_failures_total counter target party
        tidegate_target_certificate_expiry_timestamp_seconds gauge target
        tidegate_target_level gauge target level
        tidegate_reachability_detection_seconds histogram
        tidegate_incidents_total counter scope kind party
        tidegate_incident_open gauge scope kind party
        tidegate_incident_seconds_total counter scope kind party
        tidegate_incident_commands_total counter result
        tidegate_info gauge site provider
        tidegate_target_objective_ratio gauge target
        tidegate_watched_seconds_total counter
        tidegate_target_up_seconds_total counter target
        tidegate_target_down_seconds_total counter target party
        tidegate_probe_runs_total counter probe result
        tidegate_probe_failures_total counter probe party
        tidegate_probe_overruns_total counter probe
        tidegate_probe_duration_seconds histogram probe
        tidegate_probe_success gauge probe
        tidegate_probe_failure_info gauge probe reason party
        tidegate_probe_uptime_ratio gauge probe
        tidegate_probe_certificate_expiry_timestamp_seconds gauge probe
        tidegate_netlink_messages_total counter type
        tidegate_netlink_overruns_total counter
        tidegate_netlink_resyncs_total counter reason
        tidegate_netlink_resync_duration_seconds histogram
        tidegate_netlink_malformed_total counter
        tidegate_netlink_lookups_total counter
        tidegate_netlink_mode gauge mode
        tidegate_netlink_receive_buffer_bytes gauge
        tidegate_observed_connections gauge direction state
        tidegate_observed_connects_total counter outcome
        tidegate_observed_accepts_total counter
        tidegate_observed_ends_total counter direction outcome
        tidegate_observed_failures_total counter outcome party
        tidegate_observed_stalled_connections gauge direction kind
        tidegate_observed_stalls_total counter direction kind
        tidegate_observed_last_answer_timestamp_seconds gauge scope
        tidegate_observed_min_round_trip_seconds histogram scope
        tidegate_observed_sent_segments_total counter direction
        tidegate_observed_retransmitted_segments_total counter direction
        tidegate_observed_limited_seconds_total counter by
        tidegate_observed_sent_bytes_total counter direction
        tidegate_observed_received_bytes_total counter direction
        tidegate_observed_target_connections gauge target state
        tidegate_observed_target_connects_total counter target outcome
        tidegate_observed_target_ends_total counter target outcome
        tidegate_observed_target_last_answer_timestamp_seconds gauge target
        tidegate_tcp_active_opens_total counter
        tidegate_tcp_passive_opens_total counter
        tidegate_tcp_attempt_fails_total counter
        tidegate_tcp_established_resets_total counter
        tidegate_tcp_sent_resets_total counter
        tidegate_tcp_retransmitted_segments_total counter
        tidegate_tcp_syn_retransmits_total counter
        tidegate_tcp_timeout_aborts_total counter
        tidegate_tcp_listen_overflows_total counter
        tidegate_observation_mode gauge mode
        tidegate_observation_messages_total counter group
        tidegate_observation_dropped_total counter
        tidegate_observation_unexplained_total counter kind
        tidegate_observation_excluded_total counter kind
        tidegate_observation_dump_duration_seconds histogram kind
        tidegate_observation_tracked_connections gauge
        tidegate_observation_receive_buffer_bytes gauge
        tidegate_bus_events_published_total counter topic
        tidegate_bus_events_dropped_total counter subscriber
        tidegate_bus_queue_length gauge subscriber
        tidegate_bus_queue_capacity gauge subscriber
        tidegate_metric_conflicts_total counter
        tidegate_label_overflow_total counter metric label
        tidegate_metric_series gauge
        tidegate_http_requests_total counter handler code
        tidegate_http_requests_in_flight gauge
        tidegate_config_last_reload_successful gauge
        tidegate_config_last_reload_success_timestamp_seconds gauge
        tidegate_journal_tasks gauge state
        tidegate_journal_entries_total counter
        tidegate_journal_write_duration_seconds histogram
        tidegate_journal_errors_total counter reason
        tidegate_journal_lost_tasks_total counter
        tidegate_task_revalidations_total counter
        tidegate_remote_write_samples_total counter
        tidegate_remote_write_samples_dropped_total counter reason
        tidegate_remote_write_failures_total counter error_type
        tidegate_remote_write_pending_bytes gauge
        tidegate_thread_stalled gauge thread
        tidegate_thread_busy_seconds_total counter thread
        tidegate_thread_longest_turn_seconds gauge thread
        tidegate_thread_queue_length gauge thread
        tidegate_build_info gauge version revision swiftversion arch
        process_cpu_seconds_total counter
        process_open_fds gauge
        process_max_fds gauge
        process_virtual_memory_bytes gauge
        process_virtual_memory_max_bytes gauge
        process_resident_memory_bytes gauge
        process_start_time_seconds gauge
        process_threads gauge
        """

    @Test("The metrics are those of the list, with their kinds and labels")
    func list() {
        let wanted = Set(Self.expected.split(separator: "\n").map(String.init))
        let actual = Fixture(hostLabel: .top(limit: 50)).recorder.definitions.map {
            ([$0.name, $0.type.name] + $0.labels).joined(separator: " ")
        }
        #expect(wanted.subtracting(actual) == [], "in the list, and not there")
        #expect(Set(actual).subtracting(wanted) == [], "there, and not in the list")
        #expect(actual.count == wanted.count)
    }

    // No event of a monitor changes these: the embedding program does, or hosts beyond the bound.
    private static let changedByOthers: Set<String> = [
        "tidegate_metric_conflicts_total", "tidegate_label_overflow_total",
    ]

    @Test("Every metric that events change is changed by one of the events")
    func changed() {
        let (initial, changed) = (Fixture().series(), Fixture.eventful().series())
        for family in Fixture().recorder.registry.families where !(family is CollectedFamily) {
            let definition = family.definition
            guard !Self.changedByOthers.contains(definition.name) else { continue }
            let name = definition.kind.isHistogram ? definition.name + "_count" : definition.name
            let before = initial.filter { $0.key.prefix { $0 != "{" } == name }
            let after = changed.filter { $0.key.prefix { $0 != "{" } == name }
            #expect(!after.isEmpty && after != before, "\(definition.name)")
        }
    }

    @Test("Every metric that is read at a scrape shows what it reads")
    func read() {
        let series = Fixture.eventful(hostLabel: .top(limit: 50)).series()
        let families = Fixture(hostLabel: .top(limit: 50)).recorder.registry.families.filter { $0 is CollectedFamily }
        for definition in families.map(\.definition) + [Catalogue.metricSeries] {
            let name = definition.kind.isHistogram ? definition.name + "_count" : definition.name
            let values = series.filter { $0.key.prefix { $0 != "{" } == name }.values
            #expect(values.contains { $0 != 0 }, "\(definition.name)")
        }
    }

    @Test("The embedding program and too many hosts change the metrics about them")
    func changedByOthers() {
        let fixture = Fixture(hostLabel: .top(limit: 0))
        let adapter = fixture.recorder.adapter()
        _ = adapter.makeMeter(label: "tidegate_tasks", dimensions: [])
        fixture.publish(.attemptSucceeded(AttemptSummary(number: 1, method: "GET", host: "a", duration: .zero)))
        let series = fixture.series()
        #expect(series["tidegate_metric_conflicts_total"] == 1)
        #expect(
            series["tidegate_label_overflow_total{metric=\"tidegate_request_attempts_total\",label=\"host\"}"] == 1)
    }
}

extension MetricDefinition.Kind {
    fileprivate var isHistogram: Bool {
        if case .histogram = self { true } else { false }
    }
}
