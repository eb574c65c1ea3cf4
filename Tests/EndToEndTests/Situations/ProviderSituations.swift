import Testing
import TidegateTestKit

extension Situations {
    /// The outage is beyond the gateway, or on the way.
    @Suite struct Provider {
        private static let forwardsNothing = SituationLab.Outage.forwardsNothing(.router)
        private static let isDead = SituationLab.Outage.dead(.provider)

        @Test("S1: the router answers, and forwards nothing: a name")
        func s1Name() async throws {
            let answer = try await lab().during(Self.forwardsNothing) { try await $0.explain(page) }
            answer.expect(rung: "internet", party: "upstream", says: ["10.77.0.1"], not: ["another", "resolv.conf"])
        }

        @Test("S1: the provider is dead behind a living router: a name, and an internet check that fails as well")
        func s1Check() async throws {
            let answer = try await lab().during(Self.isDead) {
                try await $0.explain(page, "--internet-check", "http://check.example/")
            }
            answer.expect(rung: "internet", party: "upstream", says: ["10.77.0.1"], not: ["another", "resolv.conf"])
            #expect(answer.duration < .seconds(3), "the check's name is not waited for: \(answer)")
        }

        @Test("S1: the provider is dead behind a living router: an address")
        func s1Address() async throws {
            let answer = try await lab().during(Self.isDead) { try await $0.explain("203.0.113.10:80") }
            answer.expect(rung: "internet", party: "upstream", says: ["10.77.0.1"], not: ["is up"])
        }

        @Test(
            "S1: fetch, whose failure says whose it is, also where only its time was over",
            arguments: [
                ("http://203.0.113.10/", "--connect-timeout", "went unanswered"),
                ("http://203.0.113.10/", "--max-time", "not done within 4 s; "),
                (page, "--max-time", "not done within 4 s; the gateway"),
            ])
        func s1Fetch(_ url: String, _ limit: String, _ phrase: String) async throws {
            let end = try await lab().during(Self.forwardsNothing) {
                try await $0.run(["fetch", "--retry", "0", limit, "4", url])
            }
            #expect(end.status == 1)
            #expect(end.errors.contains(phrase), "\(end)")
            #expect(end.errors.contains("10.77.0.1"), "\(end)")
            #expect(end.errors.hasSuffix("(your provider)\n"), "\(end)")
        }

        @Test(
            "Without a target, a version of IP that dies behind the router is part of the conclusion",
            arguments: [("ipv6", "IPv6", "203.0.113.53"), ("ipv4", "IPv4", "2001:db8:113::53")])
        func deadFamily(_ family: String, _ name: String, _ resolver: String) async throws {
            try await lab().during(
                .rules(.router, "chain f { type filter hook forward priority 0; meta nfproto \(family) drop; }"),
                .resolvers(resolver)
            ) { lab in
                let answer = try await lab.explain(nil)
                answer.expect(rung: nil, party: nil, says: ["\(name) does not work"])
                let text = try await lab.run(["explain"])
                #expect(text.output.hasPrefix("the internet works, but \(name) does not\n"), "\(text)")
                let brief = try await lab.run(["explain", "--brief"])
                #expect(brief.output == "Online, but \(name) does not work.\n" && brief.status == 0, "\(brief)")
            }
        }

        @Test("Without a target, a host that has only link-local IPv6 addresses lacks nothing")
        func linkLocalOnly() async throws {
            try await lab().during(
                .ip(.client, "-6 addr flush dev uplink scope global", undo: "link list"),
                .rules(.router, "chain f { type filter hook forward priority 0; meta nfproto ipv6 drop; }")
            ) { lab in
                let answer = try await lab.explain(nil)
                answer.expect(rung: nil, party: nil, not: ["IPv6"])
                let brief = try await lab.run(["explain", "--brief"])
                #expect(brief.output == "Online.\n", "\(brief)")
            }
        }

        @Test("S2: the gateway has no route to the resolver")
        func s2() async throws {
            let answer = try await lab().during(
                .ip(.router, "-4 route del default", undo: "-4 route add default via 100.64.0.1"),
                .ip(.router, "-6 route del default", undo: "-6 route add default via 2001:db8:100::1")
            ) { try await $0.explain(page) }
            answer.expect(
                rung: "internet", party: "upstream", says: ["10.77.0.1 has no route there", "ask the provider"],
                not: ["resolver that", "resolv.conf"])
        }

        @Test("A router whose ICMP allowance is spent, asked ten times while the provider is dead")
        func spentAllowance() async throws {
            try await lab().during(.limitedICMP(.router), Self.isDead) { lab in
                for _ in 0..<10 {
                    try await lab.explain(nil, "-4").expect(
                        rung: "internet", party: "upstream", says: ["10.77.0.1"], not: ["restart", "console"])
                }
            }
        }

        @Test("A router that answers nothing itself, and forwards")
        func muteRouter() async throws {
            try await lab().during(
                .rules(
                    .router,
                    """
                    chain i { type filter hook input priority 0; ip daddr 10.77.0.1 drop; };
                    chain o { type filter hook output priority 0;
                    icmp type { destination-unreachable, time-exceeded } drop; }
                    """)
            ) { lab in
                for subject in [nil, page] { try await lab.explain(subject, "-4").expect(rung: nil, party: nil) }
                // Only one port of a server is silent.
                let dropped = try await lab.explain("203.0.113.10:9999")
                dropped.expect(rung: "tcp", party: "theirs", not: ["restart"])
            }
        }

        @Test(
            "A router that answers every address and port itself is a portal",
            arguments: [page, "https://www.example/", "203.0.113.10:22"])
        func answersEverything(_ subject: String) async throws {
            let lab = try lab()
            try lab.files.write(
                """
                daemon off; master_process off; pid \(lab.files.path("portal.pid")); user root; events {}
                http { access_log off;
                server { listen 8888; location = /ok { return 204; }
                location / { return 302 http://login.example/; } } }
                """, to: "portal.conf")
            let portal = try lab.namespace(.router).start([
                "nginx", "-e", "stderr", "-c", lab.files.path("portal.conf"),
            ])
            defer { withExtendedLifetime(portal) {} }
            let namespace = lab.namespace(.router).name
            try await Program.answers("http://10.77.0.1:8888/ok", prefix: ["ip", "netns", "exec", namespace])
            let answer = try await lab.during(
                .rules(
                    .router,
                    """
                    chain p { type nat hook prerouting priority -100;
                    iifname "lan" meta nfproto ipv4 meta l4proto tcp redirect to :8888; }
                    """)
            ) { try await $0.explain(subject, "-4", "--internet-check", "http://203.0.113.30/") }
            answer.expect(rung: "internet", party: "upstream", says: ["http://login.example/"])
        }

        @Test("S3: the gateway has no route to the target")
        func s3() async throws {
            let answer = try await lab().during(
                .rules(
                    .router,
                    """
                    chain f { type filter hook forward priority 0;
                    ip daddr 203.0.113.10 reject with icmp net-unreachable; }
                    """)
            ) { try await $0.explain("203.0.113.10:80") }
            answer.expect(rung: "tcp", party: "upstream", says: ["10.77.0.1", "no route"], not: ["is running"])
        }

        @Test("S4: the gateway's firewall forbids the target")
        func s4() async throws {
            let answer = try await lab().during(
                .rules(
                    .router,
                    """
                    chain f { type filter hook forward priority 0;
                    ip daddr 203.0.113.10 reject with icmp admin-prohibited; }
                    """)
            ) { try await $0.explain("203.0.113.10:80") }
            answer.expect(rung: "tcp", party: "gateway", says: ["10.77.0.1", "firewall"], not: ["is running"])
        }

        @Test("S6: packets go in circles beyond the provider")
        func s6() async throws {
            let answer = try await lab().during(
                .ip(.core, "route add 203.0.113.66 via 203.0.113.10", undo: "route del 203.0.113.66"),
                .ip(.servers, "route add 203.0.113.66 via 203.0.113.1", undo: "route del 203.0.113.66")
            ) { try await $0.explain("203.0.113.66:80") }
            answer.expect(rung: "tcp", party: "path", says: ["circles"], not: ["is running"])
        }

        @Test("S7: small packets pass and large ones do not")
        func s7() async throws {
            let answer = try await lab().during(
                // As a network card would send them, and not in one piece.
                .ip(.servers, "link set s0 gso_max_segs 1", undo: "link set s0 gso_max_segs 65535"),
                .rules(
                    .provider, "chain f { type filter hook forward priority 0; tcp sport 443 meta length > 600 drop; }")
            ) { try await $0.explain("https://www.example/", "-4") }
            answer.expect(rung: "tls", party: "path", says: ["large"], not: ["certificate"])
        }

        @Test("S51: the provider is dead, a target by address, with an internet check")
        func s51() async throws {
            let answer = try await lab().during(Self.isDead) {
                try await $0.explain("203.0.113.10:80", "--internet-check", "http://203.0.113.30/")
            }
            #expect(["internet", "tcp"].contains(answer.firstFailure), "\(answer)")
            answer.expect(rung: answer.firstFailure, party: "upstream", says: ["10.77.0.1"])
        }
    }
}
