import Testing
import Tidegate
import TidegateCore

@testable import TidegateDaemon

/// The section `observation`.
@Suite struct ObservationConfigurationTests {
    private func connections(_ text: String) throws -> MonitorConfiguration {
        try Configuration.parse(text, file: "t.yml").monitorConfiguration(version: "1")
    }

    @Test("Connections are observed unless that is switched off", arguments: ["", "observation: {}\n"])
    func standard(_ text: String) throws {
        let connections = try self.connections(text).connections
        #expect(connections.isEnabled && !connections.includesLoopback)
        #expect(connections.connectingInterval == .seconds(1) && connections.establishedInterval == .seconds(5))
        #expect(connections.maxTracked == 50_000 && connections.receiveBufferBytes == 8 << 20)
        #expect(try !self.connections("observation: {connections: false}").connections.isEnabled)
    }

    @Test("Every key reaches the observer")
    func keys() throws {
        let connections = try self.connections(
            """
            observation:
              connections: true
              connecting_interval: 250ms
              established_interval: 1m
              loopback: true
              exclude: {remotes: [10.0.0.0/8, "2001:db8::/32", 192.0.2.1], ports: [22, 9090]}
              max_tracked: 100
              receive_buffer: 512KiB
            """
        ).connections
        #expect(connections.connectingInterval == .milliseconds(250))
        #expect(connections.establishedInterval == .seconds(60) && connections.includesLoopback)
        #expect(connections.excludedRemotes.map(\.description) == ["10.0.0.0/8", "2001:db8::/32", "192.0.2.1/32"])
        #expect(connections.excludedPorts == [22, 9090])
        #expect(connections.maxTracked == 100 && connections.receiveBufferBytes == 512 << 10)
    }

    static let mistakes: [(String, String)] = [
        ("{connections: some}", "connections: expected true or false, found \"some\""),
        ("{connecting_interval: 99ms}", "connecting_interval: 99ms is below the minimum of 100ms"),
        ("{connecting_interval: inf}", "connecting_interval: must be finite"),
        ("{established_interval: 0}", "established_interval: 0 is below the minimum of 1s"),
        (
            "{established_interval: soon}",
            "established_interval: \"soon\" is not a duration (such as 500ms, 10s, 2m, 1h or inf)"
        ),
        (
            "{exclude: {remotes: [10.0.0.0/33]}}",
            "exclude.remotes[0]: \"10.0.0.0/33\" is neither an address nor a network (such as 10.0.0.0/8 or 2001:db8::/32)"
        ),
        (
            "{exclude: {remotes: [db.example.com]}}",
            "exclude.remotes[0]: \"db.example.com\" is neither an address nor a network (such as 10.0.0.0/8 "
                + "or 2001:db8::/32)"
        ),
        ("{exclude: {ports: [0]}}", "exclude.ports[0]: \"0\" is not a port from 1 to 65535"),
        ("{exclude: {ports: [70000]}}", "exclude.ports[0]: \"70000\" is not a port from 1 to 65535"),
        ("{max_tracked: 0}", "max_tracked: 0 is below the minimum of 1"),
        ("{receive_buffer: 1k}", "receive_buffer: 1k is below the minimum of 4.0 KiB"),
        ("{receive_buffer: 2G}", "receive_buffer: 2G is above the maximum of 1.0 GiB"),
        ("{receive_buffer: much}", "receive_buffer: \"much\" is not a size (such as 500, 64k, 2M or 1G)"),
        ("{udp: true}", "udp: UDP is not observed"),
        ("{connection: true}", "connection: unknown key (did you mean \"connections\"?)"),
    ]

    @Test("A mistake is reported with its line and key", arguments: Self.mistakes)
    func mistakeMessages(_ section: String, _ message: String) throws {
        let error = try #require(throws: ConfigurationError.self) {
            try Configuration.parse("observation: \(section)", file: "t.yml")
        }
        #expect(error.description == "t.yml:1: observation.\(message)")
    }
}
