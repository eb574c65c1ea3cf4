import Foundation
import Testing
import TidegateTestKit

/// Five sidecars at two sites with two providers, scraped by a real Prometheus with the fleet's rules.
@Suite(
    .enabled(if: NetworkNamespace.isAvailable, "network namespaces need root and ip(8)"),
    .enabled(if: Prometheus.isInstalled, "prometheus (Debian package) is not installed"),
    .enabled(
        if: FileManager.default.isExecutableFile(atPath: "/usr/bin/prometheus-alertmanager"),
        "prometheus-alertmanager (Debian package) is not installed"),
    .timeLimit(.minutes(8)))
struct FleetTests {
    @Test("A dead server is everyone's, a pulled cable is only mine and silences its site, a dead provider is its own")
    func fleet() async throws {
        let fleet = try await Fleet()
        defer { fleet.end() }
        try #require(try await fleet.reaches(5))
        try await self.expect([], in: fleet)

        fleet.stopServer()
        try await self.expect(["TidegateTargetDownForEveryone"], in: fleet)
        try await fleet.startServer()
        try await self.expect([], in: fleet)

        // The only host of the second site.
        try fleet.hosts[4].ip("link set uplink down")
        try await self.expect(["TidegateLocalOutage site=paris", "TidegateTargetDownOnlyHere"], in: fleet)
        let isSilenced = try await eventually {
            try await fleet.silenced() == ["TidegateTargetDownOnlyHere"]
        }
        #expect(isSilenced, "the outage of the site itself is not silenced")
        try fleet.hosts[4].batch("link set uplink up\nroute replace default via 10.2.5.1")
        try await self.expect([], in: fleet)

        try fleet.providers[1].ip("link set core down")
        try await self.expect(
            ["TidegateLocalOutage site=paris", "TidegateTargetDownForOneProvider provider=beta"], in: fleet)
    }

    /// Waits for these alerts and no others.
    private func expect(
        _ names: Set<String>, in fleet: Fleet, at place: SourceLocation = #_sourceLocation
    ) async throws {
        let isFiring = try await eventually { try await fleet.firing() == names }
        let firing = try await fleet.firing()
        #expect(isFiring, "\(firing.sorted()) instead of \(names.sorted())", sourceLocation: place)
    }
}

private final class Fleet {
    private static let server = "10.50.0.1"
    private static let resolver = "10.50.0.53"
    private static let port = 9843

    let hosts: [NetworkNamespace]
    let providers: [NetworkNamespace]
    private let core: NetworkNamespace
    private let station: NetworkNamespace
    private let fixtures: [EndToEndFixture]
    private let prometheus: Prometheus
    private let manager: Program
    private let names: RunningCommand
    private var web: Program?

    init() async throws {
        let (core, station) = (try NetworkNamespace("c"), try NetworkNamespace("m"))
        let providers = try (1...2).map { try NetworkNamespace("p\($0)") }
        let hosts = try (1...5).map { try NetworkNamespace("h\($0)") }
        (self.core, self.station, self.providers, self.hosts) = (core, station, providers, hosts)
        try station.batch("link add name hub type bridge\naddr add 10.99.0.1/24 dev hub\nlink set hub up")
        try core.batch("addr add \(Self.server)/32 dev lo\naddr add \(Self.resolver)/32 dev lo")
        self.names = try core.start([
            "dnsmasq", "--keep-in-foreground", "--conf-file=/dev/null", "--no-resolv", "--no-hosts", "--user=root",
            "--pid-file=", "--bind-interfaces", "--listen-address=\(Self.resolver)", "--address=/#/\(Self.server)",
        ])
        for (index, provider) in providers.enumerated() {
            try provider.ip(
                "link add core index 90 type veth peer name p\(index) index \(91 + index) netns \(core.name)")
            try provider.batch(
                "addr add 10.6\(index).0.2/24 dev core\nlink set core up\nroute add default via 10.6\(index).0.1")
            try core.batch(
                "addr add 10.6\(index).0.1/24 dev p\(index)\nlink set p\(index) up\n"
                    + "route add 10.\(index + 1).0.0/16 via 10.6\(index).0.2")
            try provider.sysctl("net.ipv4.ip_forward=1")
        }
        for (index, host) in hosts.enumerated() {
            let (number, side) = (index + 1, index < 3 ? 1 : 2)
            let provider = providers[side - 1]
            try host.put("nameserver \(Self.resolver)\n", "resolv.conf")
            try host.ip(
                "link add uplink index 77 type veth peer name h\(number) index \(50 + number) netns \(provider.name)")
            try provider.batch("addr add 10.\(side).\(number).1/24 dev h\(number)\nlink set h\(number) up")
            try host.ip(
                "link add station index 78 type veth peer name h\(number) index \(50 + number) netns \(station.name)")
            try station.batch("link set h\(number) master hub\nlink set h\(number) up")
            try host.batch(
                "addr add 10.\(side).\(number).2/24 dev uplink\nlink set uplink up\n"
                    + "route add default via 10.\(side).\(number).1\n"
                    + "addr add 10.99.0.1\(number)/24 dev station\nlink set station up")
        }
        let fixtures = try hosts.map { _ in try EndToEndFixture() }
        self.fixtures = fixtures
        let folder = try #require(fixtures.first)
        (self.prometheus, self.manager) = try await Self.monitoring(in: station, folder)
        try await self.startServer()
        for (index, (host, fixture)) in zip(hosts, fixtures).enumerated() {
            _ = try await fixture.startDaemon(
                """
                labels: {site: \(index < 4 ? "berlin" : "paris"), provider: \(index < 3 ? "alpha" : "beta")}
                reachability:
                  sentinels: {ipv4: [\(Self.server)]}
                  targets: [{name: web, host: \(Self.server), port: 80, interval: 1s, timeout: 1s}]
                """, prefix: host.inside(), flags: ["--web.listen-address", "10.99.0.1\(index + 1):\(Self.port)"])
        }
    }

    /// Prometheus and Alertmanager with the files that are shipped; what waits a minute there waits three seconds here.
    private static func monitoring(
        in station: NetworkNamespace, _ fixture: EndToEndFixture
    ) async throws -> (Prometheus, Program) {
        let rules = try String(contentsOf: Dashboard.folder.appendingPathComponent("rules-fleet.yml"), encoding: .utf8)
        try fixture.write(
            rules.replacing(/for: \d+[sm]/, with: "for: 3s"), to: "rules.yml")
        let targets = (1...5).map { "\"10.99.0.1\($0):\(Self.port)\"" }.joined(separator: ", ")
        let port = try FreePort.find()
        let prometheus = try await Prometheus(
            """
            global: {scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 1s}
            rule_files: ["\(fixture.path("rules.yml"))"]
            alerting: {alertmanagers: [{static_configs: [{targets: ["127.0.0.1:\(port)"]}]}]}
            scrape_configs: [{job_name: tidegate, static_configs: [{targets: [\(targets)]}]}]
            """, prefix: station.inside())
        let configuration = Dashboard.folder.appendingPathComponent("alertmanager.yml").path
        let manager = try fixture.start(
            station.inside([
                "prometheus-alertmanager", "--config.file=\(configuration)",
                "--storage.path=\(fixture.path("alertmanager"))", "--web.listen-address=127.0.0.1:\(port)",
                "--cluster.listen-address=", "--log.level=error",
            ]))
        try await Program.answers("http://127.0.0.1:\(port)/-/ready", prefix: station.inside())
        return (prometheus, manager)
    }

    func end() {
        self.prometheus.stop()
        self.web?.signal(SIGKILL)
        for fixture in self.fixtures { fixture.end() }
    }

    func startServer() async throws {
        self.web = try Program(self.core.inside(["python3", "-m", "http.server", "80", "--bind", Self.server]))
        try await Program.answers("http://\(Self.server)/", prefix: self.core.inside())
    }

    func stopServer() { self.web?.signal(SIGKILL) }

    /// The alerts that fire, each once, with the label that tells them apart; loopback times say nothing about slowness.
    func firing() async throws -> Set<String> {
        let series = try await self.prometheus.query(
            "ALERTS{alertstate=\"firing\",alertname!=\"TidegateTargetSlowHere\"}")
        return Set(series.map { Self.name($0.labels) })
    }

    private static func name(_ labels: [String: String]) -> String {
        let name = labels["alertname"] ?? ""
        switch name {
        case "TidegateLocalOutage": return "\(name) site=\(labels["site"] ?? "")"
        case "TidegateTargetDownForOneProvider": return "\(name) provider=\(labels["provider"] ?? "")"
        default: return name
        }
    }

    /// True once so many sidecars reach the target.
    func reaches(_ count: Int) async throws -> Bool {
        try await eventually {
            try await self.prometheus.query("sum(tidegate_target_reachable)").first?.value == Double(count)
        }
    }

    /// The alerts that Alertmanager keeps to itself.
    func silenced() async throws -> Set<String> {
        let text = try await self.prometheus.get("alertmanagers")
        let url = try #require(
            try JSONDecoder().decode(Managers.self, from: Data(text.utf8)).data.activeAlertmanagers.first)
        let alerts = try await Program.expect(
            self.station.inside(["curl", "-s", "\(url.url)?active=false&inhibited=true&silenced=false"]))
        return Set(
            try JSONDecoder().decode([Alert].self, from: Data(alerts.utf8)).compactMap { $0.labels["alertname"] })
    }

    private struct Managers: Decodable {
        struct List: Decodable { let activeAlertmanagers: [Manager] }
        struct Manager: Decodable { let url: String }

        let data: List
    }

    private struct Alert: Decodable { let labels: [String: String] }
}
