import Foundation
import Testing
import TidegateTestKit

/// What a sidecar says of an outage, from its first silence to its end: the same everywhere, and right within ten seconds.
///
/// Each with the default configuration and one target, or one other program that sends each second.
@Suite(.timeLimit(.minutes(10)), .enabled(if: NetworkNamespace.isAvailable, "network namespaces need root and ip(8)"))
struct SidecarTimelineTests {
    /// What is asked of the network while the sidecar watches.
    enum Traffic: String, CaseIterable, Sendable {
        /// A configured target, checked every 15 s.
        case target
        /// A program that opens a connection each second.
        case program
    }

    /// An outage, and what is right about it.
    struct Outage: Sendable, CustomTestStringConvertible {
        let testDescription: String
        /// The responsible party of what fails; nil if the way out works and only the target fails.
        let party: String?
        /// The level that is published once it is decided.
        let level: String
        /// What the sentence, or the advice, names.
        let says: [String]
        let outages: [SituationLab.Outage]
        /// Whose failure the target's is.
        var targetParty: String?
        /// Whether `explain`, which also asks in another network, says the same.
        var isAsExplained = true
        /// The configured target, and what `explain` is asked about.
        var (target, subject) = ("host: 203.0.113.10, port: 80", "203.0.113.10:80")
        /// What the advice names.
        var advises: [String] = []
        /// The URL of an internet check; nil without one.
        var internetCheck: String?
        /// Whether the target is reached all the same.
        var isReached = false

        /// Whether nothing fails: something is only slow, or has a way round.
        var isSound: Bool { self.party == nil && self.isReached }

        /// The same outage for a target with a name, which goes on with the addresses that it was resolved to before.
        var byName: Outage { self.at(Situations.page).with { ($0.isReached, $0.targetParty) = (true, nil) } }

        /// The same outage for a target that has a URL.
        func at(_ url: String) -> Outage {
            self.with { ($0.target, $0.subject) = ("url: \"\(url)\"", url) }
        }

        init(
            _ name: String, _ party: String?, _ level: String, _ says: [String], _ outages: SituationLab.Outage...
        ) {
            (self.testDescription, self.party, self.level) = (name, party, level)
            (self.says, self.outages, self.targetParty) = (says, outages, party)
        }

        func with(_ change: (inout Outage) -> Void) -> Outage {
            var copy = self
            change(&copy)
            return copy
        }
    }

    /// Outages of the way out, as every traffic shows them.
    static let ways: [Outage] = [
        Outage("the router is dead", "gateway", "limited", ["10.77.0.1"], .dark(.router, "lan")),
        Outage("the router forwards nothing", "upstream", "limited", ["10.77.0.1"], .forwardsNothing(.router)),
        Outage("the provider's edge is dead", "upstream", "limited", ["10.77.0.1"], .dead(.provider)),
        Outage(
            "the provider's edge forwards nothing", "upstream", "limited", ["100.64.0.1"], .forwardsNothing(.provider)),
        Outage("the provider's core is dead", "upstream", "limited", ["100.64.0.1"], .dead(.core)),
        // Without an internet check the sidecar asks in no other network than the servers'.
        Outage("the provider's core forwards nothing", "path", "limited", ["100.65.0.2"], .forwardsNothing(.core))
            .with { $0.isAsExplained = false },
        Outage("the servers are dead", "path", "limited", ["100.65.0.2"], .dead(.servers))
            .with { $0.isAsExplained = false },
        Outage(
            "S46: the default routes lead to a gateway that is not there", "gateway", "limited", ["10.77.0.99"],
            .ip(.client, "route replace default via 10.77.0.99 dev uplink metric 100", undo: "route list"),
            .ip(.client, "-6 route replace default via 2001:db8:77::99 dev uplink metric 1024", undo: "-6 route list")),
        Outage(
            "S52: the kernel has given the router up", "gateway", "limited", ["10.77.0.1"], .dark(.router, "lan"),
            .ip(.client, "neigh replace 10.77.0.1 dev uplink nud failed", undo: "neigh flush all"),
            .ip(.client, "neigh replace 2001:db8:77::1 dev uplink nud failed", undo: "neigh flush all")),
    ]

    /// Outages of the way out, or of the resolver, of a target with a name.
    static let names: [Outage] = [
        Outage(
            "S51: the provider is dead, with an internet check", "upstream", "limited", ["10.77.0.1"], .dead(.provider)
        )
        .with { $0.internetCheck = "http://203.0.113.30/" },
        Outage(
            "S2: the gateway has no route to the resolver", "upstream", "limited", ["10.77.0.1", "no route"],
            .rules(
                .router,
                """
                chain f { type filter hook forward priority 0;
                ip daddr 203.0.113.53 reject with icmp net-unreachable; }
                """)
        ).byName,
        Outage("S40: the only resolver is dead", "resolver", "limited", ["203.0.113.57"], .resolvers("203.0.113.57"))
            .byName,
        Outage(
            "S41: nothing listens on the resolver's port", "resolver", "limited", ["203.0.113.55"],
            .resolvers("203.0.113.55")
        ).byName,
        Outage(
            "S42: the resolver refuses to answer", "resolver", "limited", ["203.0.113.56"], .resolvers("203.0.113.56")
        )
        .byName,
        Outage("S12: the resolver answers with 0.0.0.0", nil, "routed", ["web"], .resolvers("203.0.113.54"))
            .at("http://ads.example/").with { $0.targetParty = "resolver" },
        Outage("S14: /etc/resolv.conf names no server", "mine", "limited", ["/etc/resolv.conf"], .resolvers()).byName,
    ]

    /// What is slow, or has a way round: nothing fails.
    static let sound: [Outage] = [
        Outage("S17: an internet check's URL answers 200 with a body", nil, "routed", [])
            .with { $0.internetCheck = "http://check.example/body" },
        Outage(
            "S25: the first resolver is dead, the second one works", nil, "routed", [],
            .resolvers("203.0.113.57", "203.0.113.53")
        ).at(Situations.page),
        Outage(
            "S27: IPv6 is broken, IPv4 works", nil, "routed", [],
            .ip(.provider, "-6 route del 2001:db8:77::/64", undo: "-6 route add 2001:db8:77::/64 via 2001:db8:100::2")
        ).at(Situations.page),
        Outage("S54: the only resolver answers after 1.5 s", nil, "routed", [], .resolvers("203.0.113.58"))
            .at(Situations.page),
        Outage(
            "S55: one of two packets to the resolver is lost", nil, "routed", [],
            .rules(.servers, "chain l { type filter hook input priority 0; udp dport 53 numgen inc mod 2 0 drop; }")
        ).at(Situations.page),
    ].map { $0.with { $0.isReached = true } }

    /// Outages that the kernel knows.
    static let host: [Outage] = [
        Outage(
            "the uplink has no carrier", "mine", "local", ["uplink", "carrier"],
            .ip(.router, "link set lan down", undo: "link set lan up")),
        Outage(
            "the uplink has no carrier, beside a link that has only a link-local address", "mine", "local",
            ["uplink", "carrier"], Situations.ThisHost.withoutIPv6, Situations.ThisHost.vpn,
            .ip(.router, "link set lan down", undo: "link set lan up")
        ).with { $0.advises = ["cable of uplink"] },
        Outage(
            "the uplink is switched off", "mine", "local", ["uplink"],
            .ip(.client, "link set uplink down", undo: "link set uplink up")),
        Outage(
            "there is no default route", "mine", "local", ["no route"],
            .ip(.client, "-4 route del default", undo: "route list"),
            .ip(.client, "-6 route del default", undo: "route list")),
        Outage(
            "S44: the uplink has no carrier, and a second one has a route", "mine", "local", ["uplink"],
            .ip(
                .client, "route add default via 10.78.0.1 dev up2 metric 200",
                undo: "route del default via 10.78.0.1 dev up2"),
            .ip(.router, "link set lan down", undo: "link set lan up")
        ).with { $0.advises = ["up2"] },
    ]

    /// Outages of one target, or of names: the way out works.
    static let targets: [Outage] = [
        Outage(
            "the target's port is closed", nil, "routed", ["web", "the server"],
            .rules(.servers, "chain i { type filter hook input priority 0; tcp dport 80 reject with tcp reset; }")
        ).with { $0.targetParty = "theirs" },
        Outage(
            "the target's port is filtered", nil, "routed", ["web", "the server"],
            .rules(.servers, "chain i { type filter hook input priority 0; tcp dport 80 drop; }")
        ).with { $0.targetParty = "theirs" },
        Outage(
            "S7: small packets pass and large ones do not", nil, "routed", ["web"],
            .ip(.servers, "link set s0 gso_max_segs 1", undo: "link set s0 gso_max_segs 65535"),
            .rules(.provider, "chain f { type filter hook forward priority 0; tcp sport 443 meta length > 600 drop; }")
        ).at("https://www.example/").with { $0.targetParty = "path" },
    ]

    @Test("An outage of the way out", arguments: Self.ways)
    func followsWay(_ outage: Outage) async throws { try await self.followEach(outage) }

    @Test("An outage that the kernel knows", arguments: Self.host)
    func followsHost(_ outage: Outage) async throws { try await self.followEach(outage) }

    // Each traffic in a lab of its own, at the same time: most of it is waiting.
    private func followEach(_ outage: Outage) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for traffic in Traffic.allCases { group.addTask { try await self.follow(outage, traffic) } }
            try await group.waitForAll()
        }
    }

    @Test("An outage of one target, or of names", arguments: Self.targets + Self.names)
    func followsTarget(_ outage: Outage) async throws { try await self.follow(outage, .target) }

    @Test("What is slow, or has a way round, is no outage", arguments: Self.sound)
    func staysSound(_ outage: Outage) async throws {
        let lab = try await SituationLab()
        try await lab.withSidecar(observing: outage) { sidecar in
            try await sidecar.expectSound(outage)
            try await lab.during(outage.outages, keepingNeighbours: true) { lab in
                let end = Date().addingTimeInterval(25)
                while Date() < end {
                    let status = try await sidecar.status()
                    #expect(status.diagnosis?.conclusion != "broken", "\(status); \(sidecar.log)")
                    let target = try await sidecar.target("web")
                    #expect(target?.reached == true, "\(target as Any), \(status); \(sidecar.log)")
                    try await Task.sleep(for: .seconds(1))
                }
                let answer = try await lab.explain(outage.subject, timeout: "10s", addsAuthority: true)
                answer.expect(rung: nil, party: nil)
            }
        }
    }

    @Test("A version of IP that leads nowhere is part of the first line of a host that is online")
    func deadFamily() async throws {
        let lab = try await SituationLab()
        let outage = Outage("IPv6 is dead", nil, "online", []).with { $0.internetCheck = "http://203.0.113.30/" }
        try await lab.withSidecar(observing: outage) { sidecar in
            try await sidecar.expectSound(outage)
            let rules = "chain f { type filter hook forward priority 0; meta nfproto ipv6 drop; }"
            try await lab.during([.rules(.router, rules)]) { _ in
                let isShown = try await eventually(within: .seconds(45)) {
                    try await sidecar.page().headline == "Online, but IPv6 does not work."
                }
                let headline = try await sidecar.page().headline
                #expect(isShown, "\(headline): \(sidecar.log)")
            }
            #expect(try await eventually { try await sidecar.page().headline == "Online." }, "\(sidecar.log)")
        }
    }

    private func follow(_ outage: Outage, _ traffic: Traffic) async throws {
        let lab = try await SituationLab()
        let hasTarget = traffic == .target
        try await lab.withSidecar(observing: hasTarget ? outage : nil) { sidecar in
            let program = hasTarget ? nil : try lab.startProgram()
            try await sidecar.expectSound(hasTarget ? outage : nil)
            try await lab.during(outage.outages, keepingNeighbours: true) { lab in
                let begin = Date()
                let start = try await sidecar.firstSilence(of: outage)
                #expect(start >= begin.addingTimeInterval(-1), "what was silent before the outage?")
                for (second, isDecided) in [(3.0, false), (10, true), (25, true)] {
                    try await Task.sleep(for: .seconds(max(0, start.addingTimeInterval(second).timeIntervalSinceNow)))
                    try await sidecar.expect(outage, hasTarget: hasTarget, since: start, isDecided: isDecided)
                    guard second == 10, outage.isAsExplained else { continue }
                    let answer = try await lab.explain(hasTarget ? outage.subject : nil, addsAuthority: true)
                    #expect(answer.party == outage.party ?? outage.targetParty, "\(answer)")
                    guard outage.party == nil else { continue }
                    let target = try #require(try await sidecar.target("web"))
                    #expect(target.lastFailure?.advice == answer.advice, "\(target)")
                }
            }
            try await sidecar.expectSound(hasTarget ? outage : nil)
            program?.signal(SIGTERM)
            _ = await program?.finish()
        }
    }
}

/// Many targets of one sidecar, each wrong in its own way from the start, beside two that work.
@Suite(.timeLimit(.minutes(5)), .enabled(if: NetworkNamespace.isAvailable, "network namespaces need root and ip(8)"))
struct FailingTargetsTests {
    /// A target, and what is right about it.
    private struct Target: Sendable {
        let name: String
        /// What `explain` is asked about.
        let subject: String
        /// Nil if it is reached.
        let party: String?
        /// What its row on the page says.
        let says: [String]

        init(_ name: String, _ subject: String, _ party: String?, _ says: String...) {
            (self.name, self.subject, self.party, self.says) = (name, subject, party, says)
        }

        var configuration: String {
            guard !self.subject.contains("/") else { return "{name: \(self.name), url: \"\(self.subject)\"}" }
            let parts = self.subject.split(separator: ":")
            return "{name: \(self.name), host: \"\(parts[0])\", port: \(parts[1])}"
        }
    }

    private static let targets = [
        Target("S3", "203.0.113.20:80", "upstream", "10.77.0.1", "no route"),
        Target("S4", "203.0.113.21:80", "gateway", "10.77.0.1", "firewall"),
        Target("S6", "203.0.113.66:80", "path", "circles"),
        Target("S8", "127.0.0.1:81", "mine", "nothing listens"),
        Target("S9", "203.0.113.22:80", "mine", "nft list ruleset"),
        Target("S10", "http://wwww.example/", "mine", "wwww.example", "spelling"),
        Target("S13", "http://v4.example/", "mine", "/etc/hosts"),
        Target("S16", "10.77.0.99:80", "theirs", "no host on uplink has the address 10.77.0.99"),
        Target("S18", "https://selfsigned.example/", "theirs", "self-signed"),
        Target("S19", "https://expired.example/", "theirs", "expired"),
        Target("S20", "https://wrong.example/", "theirs", "other.example"),
        Target("S21", "https://plain.example/", "theirs", "http://"),
        Target("S22", "https://reset.example/", "theirs", "reset"),
        Target("S23", "http://reset.example/", "theirs", "reset"),
        Target("S24", "http://203.0.113.24:22/", "theirs", "HTTP"),
        Target("S26", "http://multi.example/", nil, "reached"),
        Target("S28", "http://203.0.113.24:8088/", nil, "reached"),
        Target("S29", "203.0.113.10:81", "theirs", "refused"),
        Target("S30", "http://203.0.113.24:8080/", "theirs", "203.0.113.24:8080"),
        Target("S31", "https://203.0.113.24:8443/", "theirs", "203.0.113.24:8443"),
        Target("S32", "203.0.113.10:9999", "theirs", "Allow port 9999 in the firewall of 203.0.113.10"),
        Target("S33", "http://s500.example/500", "theirs", "500"),
        Target("S34", "http://s401.example/401", "mine", "401", "credentials"),
        Target("S35", "http://s403.example/403", "mine", "403"),
        Target("S36", "http://s404.example/404", "mine", "404", "path of the URL"),
        Target("S37", "http://s429.example/429", "theirs", "429"),
        Target("S38", "http://s503.example/503", "theirs", "503"),
        Target("S39", "203.0.113.11:80", "theirs", "203.0.113.11"),
        Target("S47", "203.0.113.56:80", "mine", "blackhole"),
        Target("S48", "203.0.113.30:80", "mine", "rule"),
        Target("S49", "224.0.0.1:80", "mine", "224.0.0.1"),
    ]

    private static let outages: [SituationLab.Outage] = [
        .rules(
            .router,
            """
            chain f { type filter hook forward priority 0;
            ip daddr 203.0.113.20 tcp dport 80 reject with icmp net-unreachable;
            ip daddr 203.0.113.21 tcp dport 80 reject with icmp admin-prohibited; }
            """),
        .ip(.core, "route add 203.0.113.66 via 203.0.113.10", undo: "route del 203.0.113.66"),
        .ip(.servers, "route add 203.0.113.66 via 203.0.113.1", undo: "route del 203.0.113.66"),
        .rules(
            .client, "chain o { type filter hook output priority 0; ip daddr 203.0.113.22 tcp dport 80 reject; }"),
        .hosts("203.0.113.11 v4.example"),
        .ip(.client, "route add blackhole 203.0.113.56", undo: "route del blackhole 203.0.113.56"),
        .ip(
            .client, "rule add to 203.0.113.30 pref 100 prohibit", undo: "rule del to 203.0.113.30 pref 100 prohibit"),
    ]

    @Test("Each target's party, advice and start are right, and what explain says, while this host is sound")
    func targets() async throws {
        let lab = try await SituationLab()
        let list = Self.targets.map(\.configuration).joined(separator: ", ")
        try await lab.during(Self.outages) { lab in
            try await lab.withSidecar("reachability: {targets: [\(list)]}\n", addsAuthority: true) { sidecar in
                let start = Date()
                var since: [String: String] = [:]
                for second in [3.0, 10, 25] {
                    try await Task.sleep(for: .seconds(max(0, start.addingTimeInterval(second).timeIntervalSinceNow)))
                    // The row of a target that is reached says when its next check takes longer than a second.
                    let settled = try await eventualValue { () -> SidecarPage? in
                        let page = try await sidecar.page()
                        let isChecking = Self.targets.contains {
                            $0.party == nil && page.targets[$0.name]?.contains("checking since") ?? false
                        }
                        return isChecking ? nil : page
                    }
                    let page = try #require(settled, "a check does not end: \(sidecar.log)")
                    for target in Self.targets {
                        let said = try #require(try await sidecar.target(target.name))
                        // A server that is slow has its time.
                        if second < 10, said.reached == nil { continue }
                        #expect(said.reached == (target.party == nil), "\(target.name): \(said); \(sidecar.log)")
                        let row = page.targets[target.name] ?? ""
                        for phrase in target.says where second > 3 {
                            #expect(row.contains(phrase), "\(target.name): “\(phrase)” in “\(row)”")
                        }
                        guard let party = target.party, let failure = said.lastFailure else { continue }
                        #expect(failure.party == party, "\(target.name): \(failure)")
                        #expect(failure.since == since[target.name] ?? failure.since, "\(target.name)")
                        since[target.name] = failure.since
                    }
                    let diagnosis = try #require(try await sidecar.status().diagnosis)
                    #expect(diagnosis.conclusion != "broken", "\(diagnosis)")
                }
                for target in Self.targets {
                    let answer = try await lab.explain(target.subject, addsAuthority: true)
                    #expect(answer.party == target.party, "\(target.name): \(answer)")
                    guard target.party != nil else { continue }
                    let said = try #require(try await sidecar.target(target.name))
                    #expect(said.lastFailure?.advice == answer.advice, "\(target.name): \(said)")
                }
            }
        }
    }
}

extension SituationLab {
    /// Runs a sidecar with the default configuration, and the outage's target.
    fileprivate func withSidecar(
        observing outage: SidecarTimelineTests.Outage?, _ body: (Sidecar) async throws -> Void
    ) async throws {
        let check = outage?.internetCheck.map { ", internet_check: {enabled: true, urls: [\"\($0)\"], interval: 10s}" }
        let target = outage.map { "{name: web, \($0.target)}" } ?? ""
        try await self.withSidecar("reachability: {targets: [\(target)]\(check ?? "")}\n", addsAuthority: true, body)
    }

    /// A program that opens a connection each second.
    fileprivate func startProgram() throws -> Program {
        try Program(
            self.files.onClient(
                self.namespace(.client),
                ["sh", "-c", "while :; do curl -s -m 2 -o /dev/null http://203.0.113.10/; sleep 1; done"]))
    }
}

extension Sidecar {
    private static let descriptions = [
        "mine": "this host", "gateway": "your router", "upstream": "your provider", "resolver": "the resolver",
        "path": "on the way", "theirs": "the server", "unknown": "not known",
    ]

    /// What `/api/v1/status` says.
    fileprivate struct Status: Decodable {
        struct Diagnosis: Decodable {
            var state, sentence, advice, conclusion: String
            var party, since: String?
        }

        var level: String
        var diagnosis: Diagnosis?
    }

    fileprivate func status() async throws -> Status {
        try JSONDecoder().decode(Status.self, from: Data(try await self.get("/api/v1/status").utf8))
    }

    /// Waits until everything works, and everything says so.
    fileprivate func expectSound(_ outage: SidecarTimelineTests.Outage?) async throws {
        var last = ""
        let level = outage.map { $0.internetCheck != nil && !$0.isSound } == true ? "online" : "routed"
        // What is worth knowing is no outage, and not good either.
        let tones = outage?.isSound == true ? ["good", "wait"] : ["good"]
        let isSound = try await eventually(within: .seconds(30)) {
            let page = try await self.page()
            let status = try await self.status()
            let target = try await self.target("web")
            let metrics = try await self.metrics()
            let outages = metrics.sum("tidegate_outage", containing: "party=")
            last = "\(page.headline); \(status); \(target.map { "\($0)" } ?? "no target"); \(outages)"
            return tones.contains(page.tone) && status.level == level && status.diagnosis?.state == "decided"
                && status.diagnosis?.conclusion != "broken" && target?.reached == outage.map { _ in true }
                && outages == 0
                && metrics["tidegate_outage_start_timestamp_seconds"] == nil
        }
        #expect(isSound, "\(last): \(self.log)")
    }

    /// Waits for the first silence, and says when it was.
    fileprivate func firstSilence(of outage: SidecarTimelineTests.Outage) async throws -> Date {
        let start = try await eventualValue(within: .seconds(45)) { () -> String? in
            guard outage.party == nil else {
                // A name that has addresses may not be asked about for a while: a page view starts a diagnosis.
                if outage.isReached { _ = try await self.page() }
                let said = try await self.status()
                return said.diagnosis?.state == "checking" || said.diagnosis?.conclusion == "broken"
                    ? said.diagnosis?.since : nil
            }
            let target = try await self.target("web")
            return target?.reached == false ? target?.lastFailure?.since : nil
        }
        let text = try #require(start, "no silence was noticed: \(self.log)")
        return try Date(text, strategy: .iso8601WithFraction)
    }

    /// Expects that page, API, metrics and log say the same of an outage, and that it is right; or that it is checked.
    fileprivate func expect(
        _ outage: SidecarTimelineTests.Outage, hasTarget: Bool, since start: Date, isDecided: Bool
    ) async throws {
        let status = try await self.status()
        let diagnosis = try #require(status.diagnosis, "\(self.log)")
        if !isDecided, diagnosis.state == "checking" {
            #expect(diagnosis.party == nil)
            return
        }
        // The diagnosis is decided a moment before the check that waits for it ends, and the page is read after both.
        let target = try await self.target("web")
        let page = try await self.page()
        #expect((target != nil) == hasTarget)
        if let target, isDecided || target.checkingSince == nil {
            #expect(target.reached == outage.isReached, "\(self.log)")
            #expect(outage.isReached || target.lastFailure?.party == outage.targetParty, "\(target)")
            let word = outage.targetParty.flatMap { Self.descriptions[$0] } ?? "reached"
            #expect(page.targets["web"]?.contains(word) ?? false, "“\(word)” in \(page.targets)")
            let reachable = try await self.metrics()["tidegate_target_reachable{target=\"web\"}"]
            #expect(reachable == (outage.isReached ? 1 : 0))
        }
        #expect(diagnosis.state == "decided")
        #expect(diagnosis.party == outage.party, "\(diagnosis): \(self.log)")
        #expect(status.level == outage.level)
        for phrase in outage.says { #expect(page.headline.contains(phrase), "“\(phrase)” in “\(page.headline)”") }
        for phrase in outage.advises { #expect(page.detail.contains(phrase), "“\(phrase)” in “\(page.detail)”") }
        #expect(page.headline.count <= 90)
        guard let party = outage.party, let word = Self.descriptions[party] else { return }
        #expect(page.headline == diagnosis.sentence)
        #expect(page.detail.contains(diagnosis.advice) && !diagnosis.advice.isEmpty, "\(page.detail)")
        #expect(page.tone == "bad")
        let since = try Date(diagnosis.since ?? "", strategy: .iso8601WithFraction)
        #expect(since == start, "since does not move")
        let metrics = try await self.metrics()
        #expect(metrics["tidegate_outage{party=\"\(party)\"}"] == 1)
        #expect(metrics.sum("tidegate_outage", containing: "party=") == 1)
        let seconds = metrics["tidegate_outage_start_timestamp_seconds"] ?? 0
        #expect(abs(seconds - start.timeIntervalSince1970) < 0.001, "\(seconds)")
        let line = self.log.split(separator: "\n").last { $0.contains("network diagnosed") } ?? ""
        #expect(line.contains("text=\"\(diagnosis.sentence)\"") && line.contains("party=\"\(word)\""), "\(line)")
    }
}

extension ParseStrategy where Self == Date.ISO8601FormatStyle {
    static var iso8601WithFraction: Self { .init(includingFractionalSeconds: true) }
}
