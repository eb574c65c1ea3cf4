import Testing
import TidegateCore
import TidegateTestKit

@testable import TidegateMetrics

@Suite struct NetlinkAndJournalRecorderTests {
    private let fixture = Fixture()

    @Test("What netlink says is counted by type and cause")
    func netlink() {
        self.fixture.bus.publish(.netlink(.received(.newroute, count: 40)))
        self.fixture.bus.publish(.netlink(.received(.newroute, count: 2)))
        self.fixture.bus.publish(.netlink(.overrun))
        self.fixture.bus.publish(.netlink(.resynced(.overrun, duration: .milliseconds(3))))
        self.fixture.bus.publish(.netlink(.malformed(count: 5)))
        self.fixture.bus.publish(.netlink(.lookedUp(count: 8)))
        let series = self.fixture.series()
        #expect(series["tidegate_netlink_messages_total{type=\"newroute\"}"] == 42)
        #expect(series["tidegate_netlink_messages_total{type=\"dellink\"}"] == 0)
        #expect(series["tidegate_netlink_overruns_total"] == 1)
        #expect(series["tidegate_netlink_resyncs_total{reason=\"overrun\"}"] == 1)
        #expect(series["tidegate_netlink_resyncs_total{reason=\"startup\"}"] == 0)
        #expect(series["tidegate_netlink_resync_duration_seconds_bucket{le=\"0.005\"}"] == 1)
        #expect(series["tidegate_netlink_malformed_total"] == 5)
        #expect(series["tidegate_netlink_lookups_total"] == 8)
    }

    @Test("A bad configuration keeps the time of the last good one")
    func configuration() {
        #expect(self.fixture.series()["tidegate_config_last_reload_successful"] == nil)
        self.fixture.bus.publish(.daemon(.configurationLoaded(isGood: true)))
        self.fixture.time.advance(by: .seconds(9))
        self.fixture.bus.publish(.daemon(.configurationLoaded(isGood: false)))
        let series = self.fixture.series()
        #expect(series["tidegate_config_last_reload_successful"] == 0)
        #expect(series["tidegate_config_last_reload_success_timestamp_seconds"] == 1_790_000_000)
    }

    @Test("Answers are counted by handler and code")
    func answers() {
        self.fixture.bus.publish(.daemon(.requestAnswered(handler: "metrics", status: 200)))
        self.fixture.bus.publish(.daemon(.requestAnswered(handler: "metrics", status: 503)))
        self.fixture.bus.publish(.daemon(.requestAnswered(handler: "metrics", status: 200)))
        let series = self.fixture.series()
        #expect(series["tidegate_http_requests_total{handler=\"metrics\",code=\"200\"}"] == 2)
        #expect(series["tidegate_http_requests_total{handler=\"metrics\",code=\"503\"}"] == 1)
        #expect(series["tidegate_http_requests_in_flight"] == 1)
    }

    @Test("Subscribers, build and process are read at the scrape")
    func collected() {
        let series = self.fixture.series()
        #expect(series["tidegate_bus_events_dropped_total{subscriber=\"sse\"}"] == 2)
        #expect(series["tidegate_bus_queue_length{subscriber=\"log\"}"] == 1)
        #expect(series["tidegate_bus_queue_capacity{subscriber=\"log\"}"] == 256)
        let build = "tidegate_build_info{version=\"1.2.3\",revision=\"abcdef\",swiftversion=\"6.3\",arch=\"x86_64\"}"
        #expect(series[build] == 1)
        #expect(series["process_cpu_seconds_total"] == 1.25)
        #expect(series["process_open_fds"] == 12)
        #expect(series["process_threads"] == 5)
    }

    @Test("What the process hides has no series")
    func hidden() {
        var inputs = self.fixture.inputs
        inputs.process = nil
        #expect(self.fixture.series(of: inputs).keys.contains { $0.hasPrefix("process_") } == false)
    }

    @Test("The exposition counts its own samples")
    func series() {
        let series = Fixture.eventful().series()
        #expect(series["tidegate_metric_series"] == Double(series.count - 1))
    }
}
