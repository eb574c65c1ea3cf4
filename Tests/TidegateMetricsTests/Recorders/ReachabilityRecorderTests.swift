import Testing
import TidegateCore
import TidegateTestKit

@testable import TidegateMetrics

@Suite struct ReachabilityRecorderTests {
    private let fixture = Fixture()

    private func change(
        _ scope: PathEvent.Scope, _ from: ReachabilityLevel, _ to: ReachabilityLevel, detection: Duration? = nil
    ) {
        let event = PathEvent(scope: scope, from: Verdict(level: from), to: Verdict(level: to), detection: detection)
        self.fixture.bus.publish(.path(event))
    }

    private func seconds(_ level: ReachabilityLevel) -> Double? {
        self.fixture.series()["tidegate_reachability_level_seconds_total{level=\"\(level.label)\"}"]
    }

    @Test("A level's seconds go on between events")
    func levelSeconds() {
        self.fixture.time.advance(by: .seconds(3))
        #expect(self.seconds(.unknown) == 3)
        self.change(.global, .unknown, .routed)
        self.fixture.time.advance(by: .seconds(10))
        #expect(self.seconds(.routed) == 10)
        self.fixture.time.advance(by: .milliseconds(500))
        #expect(self.seconds(.routed) == 10.5)
        self.change(.global, .routed, .none)
        self.fixture.time.advance(by: .seconds(4))
        self.change(.family(.ipv4), .none, .routed)
        #expect(self.seconds(.routed) == 10.5)
        #expect(self.seconds(.none) == 4)
        #expect(self.seconds(.unknown) == 3)
        #expect(ReachabilityLevel.allCases.compactMap(self.seconds).reduce(0, +) == 17.5)
    }

    @Test("Only changes of the global level are transitions")
    func transitions() {
        self.change(.global, .unknown, .routed)
        self.fixture.time.advance(by: .seconds(60))
        self.change(.global, .routed, .none)
        self.fixture.time.advance(by: .seconds(60))
        self.change(.global, .none, .none)
        self.change(.family(.ipv6), .none, .routed)
        let series = self.fixture.series()
        #expect(series["tidegate_reachability_transitions_total{from=\"unknown\",to=\"routed\"}"] == 1)
        #expect(series["tidegate_reachability_transitions_total{from=\"routed\",to=\"none\"}"] == 1)
        let changes = series.filter { $0.key.hasPrefix("tidegate_reachability_transitions_total") }
        // All are there from the start, so that the first change is growth.
        #expect(changes.count == 42)
        #expect(changes.values.reduce(0, +) == 2)
        #expect(series["tidegate_reachability_last_transition_timestamp_seconds"] == 1_790_000_060)
    }

    @Test("There is no time of a change before the first one")
    func noTransition() {
        #expect(self.fixture.series()["tidegate_reachability_last_transition_timestamp_seconds"] == nil)
    }

    @Test("Every verdict that a message led to is observed")
    func detection() {
        self.change(.global, .unknown, .routed)
        self.change(.global, .routed, .none, detection: .microseconds(80))
        self.change(.family(.ipv4), .routed, .none, detection: .microseconds(80))
        let series = self.fixture.series()
        #expect(series["tidegate_reachability_detection_seconds_count"] == 2)
        #expect(series["tidegate_reachability_detection_seconds_bucket{le=\"1e-05\"}"] == 0)
        #expect(series["tidegate_reachability_detection_seconds_bucket{le=\"0.0001\"}"] == 2)
    }

    @Test("Exactly one level is 1, whatever the level", arguments: ReachabilityLevel.allCases)
    func exactlyOne(_ level: ReachabilityLevel) {
        var inputs = self.fixture.inputs
        inputs.status.global = Verdict(level: level)
        let series = self.fixture.series(of: inputs)
        let levels = ReachabilityLevel.allCases.map { series["tidegate_reachability_level{level=\"\($0.label)\"}"] }
        #expect(levels == ReachabilityLevel.allCases.map { $0 == level ? 1 : 0 })
        let isOpen = level == .unknown || level >= .routed
        #expect(series["tidegate_gate_state{state=\"open\"}"] == (isOpen ? 1 : 0))
        #expect(series["tidegate_gate_state{state=\"shut\"}"] == (isOpen ? 0 : 1))
    }

    @Test("Families, links and targets are read at the scrape")
    func collected() {
        let series = self.fixture.series()
        #expect(series["tidegate_reachability_family_level{family=\"ipv4\",level=\"routed\"}"] == 1)
        #expect(series["tidegate_reachability_family_level{family=\"ipv6\",level=\"routed\"}"] == 0)
        #expect(series["tidegate_reachability_reason_info{family=\"ipv6\",reason=\"no_address\"}"] == 1)
        #expect(series["tidegate_default_path{family=\"ipv4\"}"] == 1)
        #expect(series["tidegate_default_path{family=\"ipv6\"}"] == 0)
        #expect(series["tidegate_interface_up{device=\"eth0\"}"] == 1)
        #expect(series["tidegate_interface_carrier{device=\"eth0\"}"] == 1)
        #expect(series["tidegate_interface_info{device=\"eth0\",type=\"ethernet\"}"] == 1)
        #expect(series["tidegate_interface_carrier_losses_total{device=\"eth0\"}"] == 3)
        #expect(series["tidegate_target_reachable{target=\"api\"}"] == 1)
        #expect(series["tidegate_target_level{target=\"api\",level=\"routed\"}"] == 1)
        #expect(series["tidegate_netlink_mode{mode=\"event\"}"] == 1)
        #expect(series["tidegate_netlink_mode{mode=\"poll\"}"] == 0)
        #expect(series["tidegate_netlink_receive_buffer_bytes"] == 425_984)
    }

    @Test("Excluded links and targets without a configured name have no series")
    func bounded() {
        var inputs = self.fixture.inputs
        inputs.targetNames = [:]
        inputs.incidents = nil
        inputs.deployment.objectives = [:]
        let series = self.fixture.series(of: inputs)
        #expect(series.keys.contains { $0.contains("device=\"lo\"") } == false)
        #expect(series.keys.contains { $0.hasPrefix("tidegate_target") } == false)
    }

    @Test("Two links of one name make one series")
    func duplicateLink() throws {
        var inputs = self.fixture.inputs
        inputs.status.links.append(try #require(inputs.status.links.first))
        let text = self.fixture.text(of: inputs)
        #expect(text.split(separator: "\n").filter { $0.hasPrefix("tidegate_interface_up{") }.count == 1)
    }
}
