import Testing
import TidegateTestKit

extension Situations {
    /// The outage is on this host, its links, or its router.
    @Suite struct ThisHost {
        @Test("S5: the router hung a moment ago; the kernel still takes it for reachable")
        func s5() async throws {
            let lab = try lab()
            let answer = try await lab.during {
                #expect(try await $0.explain(page).status == 0)
                return try await $0.during(keepingNeighbours: true, .dark(.router, "lan")) {
                    try await $0.explain(page)
                }
            }
            answer.expect(rung: "gateway", party: "gateway", says: ["10.77.0.1"])
            #expect(answer.says("last confirmed"), "\(answer)")
        }

        @Test("S8: nothing listens on an address of this host", arguments: ["127.0.0.1", "10.77.0.2"])
        func s8(_ address: String) async throws {
            let answer = try await lab().explain("\(address):80")
            answer.expect(rung: "tcp", party: "mine", says: ["nothing listens", "80"])
        }

        @Test("S9: this host's own firewall rejects the target")
        func s9() async throws {
            let answer = try await lab().during(
                .rules(.client, "chain o { type filter hook output priority 0; ip daddr 203.0.113.10 reject; }")
            ) { try await $0.explain("203.0.113.10:80") }
            answer.expect(rung: "tcp", party: "mine", says: ["nft list ruleset"], not: ["start the service"])
        }

        @Test("This host's own firewall drops TCP without a word, and lets UDP pass")
        func dropsTCP() async throws {
            let answer = try await lab().during(
                .rules(.client, "chain o { type filter hook output priority 0; tcp dport 80 drop; }")
            ) { try await $0.explain("203.0.113.10:80") }
            answer.expect(rung: "tcp", party: "unknown", says: ["nft list ruleset"], not: ["operator", "provider"])
        }

        @Test("This host's own firewall drops name queries")
        func dropsQueries() async throws {
            let answer = try await lab().during(
                .rules(
                    .client,
                    "chain o { type filter hook output priority 0; udp dport 53 drop; tcp dport 53 drop; }")
            ) { try await $0.explain(page) }
            answer.expect(rung: "dns", party: "mine", says: ["nft list ruleset"], not: ["route"])
        }

        @Test("A host on the own link hangs, while the provider is dead and an internet check fails")
        func hungNeighbour() async throws {
            let answer = try await lab().during(
                .dead(.provider),
                .ip(.router, "addr add 10.77.0.50/24 dev lan", undo: "addr del 10.77.0.50/24 dev lan"),
                .rules(.router, "chain i { type filter hook input priority 0; ip daddr 10.77.0.50 drop; }")
            ) { try await $0.explain("10.77.0.50:8080", "--internet-check", "http://203.0.113.30/") }
            answer.expect(rung: "tcp", party: "theirs", says: ["10.77.0.50"], not: ["provider"])
        }

        @Test("The uplink is renamed while the router is dead")
        func renamed() async throws {
            let answer = try await lab().during(
                .dark(.router, "lan"), .ip(.client, "link set uplink name wan0", undo: "link set wan0 name uplink")
            ) { try await $0.explain(page) }
            answer.expect(rung: "gateway", party: "gateway", says: ["10.77.0.1", "wan0"], not: ["uplink"])
        }

        @Test("S15: the interface that had the default route is down")
        func s15() async throws {
            let answer = try await lab().during(.ip(.client, "link set uplink down", undo: "link set uplink up")) {
                try await $0.explain(page)
            }
            #expect(["interface", "route"].contains(answer.firstFailure), "\(answer)")
            answer.expect(rung: answer.firstFailure, party: "mine", says: ["ip link set uplink up"])
        }

        @Test(
            "S16: an absent host on the own link, told before the kernel gives it up", arguments: ["", ":80"])
        func s16(_ port: String) async throws {
            let answer = try await lab().during { try await $0.explain("10.77.0.99\(port)") }
            answer.expect(rung: "tcp", party: "theirs", says: ["no host on uplink has the address 10.77.0.99"])
            #expect(answer.duration < .seconds(3), "\(answer)")
        }

        @Test("S43: the uplink has no carrier")
        func s43() async throws {
            let answer = try await lab().during(.ip(.router, "link set lan down", undo: Self.lanUp)) {
                try await $0.explain(page)
            }
            answer.expect(rung: "carrier", party: "mine", says: ["uplink", "cable"])
        }

        @Test("S44: the uplink has no carrier, and a second one has a route")
        func s44() async throws {
            let answer = try await lab().during(
                .ip(
                    .client, "route add default via 10.78.0.1 dev up2 metric 200",
                    undo: "route del default via 10.78.0.1 dev up2"),
                .ip(.router, "link set lan down", undo: Self.lanUp)
            ) { try await $0.explain(page) }
            answer.expect(
                rung: "carrier", party: "mine", says: ["uplink", "up2", "ignore_routes_with_linkdown"])
        }

        @Test(
            "A pulled cable of a host without IPv6, beside a link that has only a link-local address",
            arguments: [false, true])
        func linkLocalBeside(removesAddress: Bool) async throws {
            let cable = SituationLab.Outage.ip(.router, "link set lan down", undo: Self.lanUp)
            let beside = removesAddress ? [Self.containers, Self.withoutLease] : [Self.vpn]
            try await lab().during([Self.withoutIPv6, cable] + beside) {
                for subject in [nil, page, "203.0.113.10:80"] {
                    let answer = try await $0.explain(subject)
                    answer.expect(rung: "carrier", party: "mine", says: ["Plug in the cable of uplink"], not: ["DHCP"])
                    #expect(answer.sentence == "This host: uplink has no carrier.")
                }
                let brief = try await $0.run(["explain", "--brief"])
                #expect(brief.output == "This host: uplink has no carrier.\n", "\(brief)")
                let status = try await $0.run(["status"])
                #expect(status.output.contains("uplink has no carrier") && !status.output.contains("DHCP"), "\(status)")
            }
        }

        /// Without IPv6, but for the addresses that every link has.
        static let withoutIPv6 = SituationLab.Outage.ip(
            .client, "-6 addr flush dev uplink scope global", undo: "link list")
        /// As DHCP clients leave it once the carrier is lost.
        private static let withoutLease = SituationLab.Outage(
            begin: { try $0.namespace(.client).batch("link set up2 down\naddr flush dev uplink scope global") },
            end: { try $0.namespace(.client).ip("link set up2 up") })
        /// A link with nothing but a link-local address.
        static let vpn = Self.link("vpn0", setUp: "link set vpn0 up")
        /// A bridge of containers with nothing but a link-local address.
        private static let containers = Self.link(
            "veth0", setUp: "link add docker0 type bridge\nlink set docker0 up\nlink set veth0 master docker0 up")

        private static func link(_ name: String, setUp commands: String) -> SituationLab.Outage {
            SituationLab.Outage(
                begin: {
                    let router = $0.namespace(.router)
                    try $0.namespace(.client).ip(
                        "link add \(name) index 79 type veth peer name far0 netns \(router.name)")
                    try router.ip("link set far0 up")
                    try $0.namespace(.client).batch(commands)
                    try $0.namespace(.client).waitForLinks(name)
                },
                end: {
                    try $0.namespace(.client).ip("link del \(name)")
                    if commands.contains("docker0") { try $0.namespace(.client).ip("link del docker0") }
                })
        }

        @Test("S45: there is no default route")
        func s45() async throws {
            let answer = try await lab().during(
                .ip(.client, "-4 route del default", undo: "route list"),
                .ip(.client, "-6 route del default", undo: "route list")
            ) { try await $0.explain("203.0.113.10:80") }
            answer.expect(rung: "route", party: "mine", says: ["default", "route"])
        }

        @Test("S46: the default route leads to a gateway that is not there, told before the kernel gives it up")
        func s46() async throws {
            let answer = try await lab().during(
                .ip(.client, "route replace default via 10.77.0.99 dev uplink metric 100", undo: "route list")
            ) { try await $0.explain("203.0.113.10:80") }
            answer.expect(rung: "gateway", party: "gateway", says: ["10.77.0.99"])
            #expect(answer.duration < .seconds(3), "\(answer)")
        }

        @Test("S47: a blackhole route")
        func s47() async throws {
            let answer = try await lab().during(
                .ip(.client, "route add blackhole 203.0.113.10", undo: "route del blackhole 203.0.113.10")
            ) { try await $0.explain("203.0.113.10:80") }
            answer.expect(rung: "route", party: "mine", says: ["blackhole"])
        }

        @Test("S48: a rule prohibits the target")
        func s48() async throws {
            let rule = "to 203.0.113.10 pref 100 prohibit"
            let answer = try await lab().during(.ip(.client, "rule add \(rule)", undo: "rule del \(rule)")) {
                try await $0.explain("203.0.113.10:80")
            }
            answer.expect(rung: "route", party: "mine", says: ["rule"])
        }

        @Test("S49: a multicast address is no host")
        func s49() async throws {
            let answer = try await lab().explain("224.0.0.1:80")
            answer.expect(rung: "route", party: "mine", says: ["224.0.0.1"])
        }

        @Test("S52: the router has hung for long: the kernel has given it up")
        func s52() async throws {
            let answer = try await lab().during(
                .dark(.router, "lan"),
                .ip(.client, "neigh replace 10.77.0.1 dev uplink nud failed", undo: "neigh flush all"),
                .ip(.client, "neigh replace 2001:db8:77::1 dev uplink nud failed", undo: "neigh flush all")
            ) { try await $0.explain(page) }
            answer.expect(rung: "gateway", party: "gateway", says: ["10.77.0.1"])
        }

        private static let lanUp = "link set lan up"
    }
}
