import Testing
import Tidegate
import TidegateServer
import TidegateCore

@testable import TidegateDaemon

/// The sections `events` and `metrics`.
@Suite struct ObservabilityConfigurationTests {
    @Test(
        "Nothing said means that hosts are one and URLs lose what is secret",
        arguments: ["", "events: {}\nmetrics: {}\n", "metrics: {host_label: off, hosts: [], max_hosts: 50}\n"])
    func defaults(_ text: String) throws {
        let configuration = try Configuration.parse(text, file: "t.yml")
        let monitor = try configuration.monitorConfiguration(version: "1")
        #expect(monitor.hostLabel == .off && !monitor.session.reportsRetryTokens)
        #expect(monitor.session.redaction == URLRedaction(query: true, userinfo: true))
        var endpoint = EndpointConfiguration()
        configuration.apply(to: &endpoint)
        #expect(endpoint.eventHistory == 4096 && endpoint.redaction == URLRedaction())
    }

    @Test("The settings of events reach the session, which publishes them, and the endpoint, which keeps them")
    func events() throws {
        let configuration = try Configuration.parse(
            "events: {history: 100, redact: {query: false, userinfo: true}}", file: "t.yml")
        let wanted = URLRedaction(query: false, userinfo: true)
        #expect(try configuration.monitorConfiguration(version: "1").session.redaction == wanted)
        var endpoint = EndpointConfiguration()
        configuration.apply(to: &endpoint)
        #expect(endpoint.eventHistory == 100 && endpoint.redaction == wanted)
    }

    static let labels: [(String, HostLabel)] = [
        ("{host_label: top}", .top(limit: 50)), ("{host_label: top, max_hosts: 7}", .top(limit: 7)),
        (
            "{host_label: allowlist, hosts: [API.Example.com., \"2001:DB8:0::1\", api.example.com]}",
            .allowlist(["api.example.com", "2001:db8::1"])
        ),
        // In reserve.
        ("{host_label: off, hosts: [api.example.com]}", .off),
    ]

    @Test("The host label's modes reach the monitor, hosts as URLs name them", arguments: Self.labels)
    func hostLabel(_ section: String, _ label: HostLabel) throws {
        let monitor = try Configuration.parse("metrics: \(section)", file: "t.yml").monitorConfiguration(version: "1")
        #expect(monitor.hostLabel == label)
        #expect(monitor.session.reportsRetryTokens == (label != .off))
    }

    // Every kind of mistake, each with the whole message.
    static let mistakes: [(String, String)] = [
        ("events: {history: 0}", "t.yml:1: events.history: 0 is below the minimum of 1"),
        ("events: {history: 1000001}", "t.yml:1: events.history: 1000001 is above the maximum of 1000000"),
        ("events: {history: all}", "t.yml:1: events.history: expected a whole number, found \"all\""),
        ("events: {redact: true}", "t.yml:1: events.redact: expected a mapping, found \"true\""),
        ("events: {redact: {query: some}}", "t.yml:1: events.redact.query: expected true or false, found \"some\""),
        (
            "events: {redact: {userinf: true}}",
            "t.yml:1: events.redact.userinf: unknown key (did you mean \"userinfo\"?)"
        ),
        (
            "metrics: {host_label: some}",
            "t.yml:1: metrics.host_label: \"some\" is not one of off, allowlist, top"
        ),
        (
            "metrics: {host_label: [all]}",
            "t.yml:1: metrics.host_label: expected one of off, allowlist, top, found a list"
        ),
        ("metrics: {host_label: allowlist}", "t.yml:1: metrics: \"allowlist\" requires \"hosts\""),
        (
            "metrics:\n  host_label: allowlist\n  hosts: []",
            "t.yml:3: metrics.hosts: \"allowlist\" requires \"hosts\""
        ),
        (
            "metrics:\n  host_label: allowlist\n  max_hosts: 1\n  hosts: [a, b]",
            "t.yml:4: metrics.hosts: 2 hosts exceed \"max_hosts\" (1)"
        ),
        (
            "metrics:\n  host_label: top\n  hosts: [a]",
            "t.yml:3: metrics.hosts: \"hosts\" requires \"host_label: allowlist\""
        ),
        (
            "metrics: {host_label: allowlist, hosts: [\"a:443\"]}",
            "t.yml:1: metrics.hosts[0]: \"a:443\" has a port; the host label is the host name only"
        ),
        ("metrics: {host_label: top, max_hosts: 0}", "t.yml:1: metrics.max_hosts: 0 is below the minimum of 1"),
        (
            "metrics: {host_label: top, max_hosts: 1001}",
            "t.yml:1: metrics.max_hosts: 1001 is above the maximum of 1000"
        ),
        ("metrics: {hostlabel: all}", "t.yml:1: metrics.hostlabel: unknown key (did you mean \"host_label\"?)"),
    ]

    @Test("Every mistake is named with its line and key", arguments: Self.mistakes)
    func mistakeMessages(_ text: String, _ message: String) throws {
        let error = try #require(throws: ConfigurationError.self) { try Configuration.parse(text, file: "t.yml") }
        #expect(error.description == message)
    }
}
