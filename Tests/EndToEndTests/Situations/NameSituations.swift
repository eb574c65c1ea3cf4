import Testing
import TidegateCore
import TidegateTestKit

extension Situations {
    /// The name is wrong, or who answers for it.
    @Suite struct Names {
        @Test("S10: a name with a typo, and a resolver that works")
        func s10() async throws {
            let answer = try await lab().explain("http://wwww.example/")
            answer.expect(rung: "dns", party: "mine", says: ["wwww.example", "does not exist"])
        }

        @Test("S11: a resolver denies a name that another one knows")
        func s11() async throws {
            let answer = try await lab().during(.resolvers("203.0.113.54", "203.0.113.53")) {
                try await $0.explain(page)
            }
            answer.expect(rung: "dns", party: "resolver", says: ["203.0.113.54", "denies"], not: ["spelling"])
        }

        @Test("S12: a resolver answers with 0.0.0.0")
        func s12() async throws {
            let answer = try await lab().during(.resolvers("203.0.113.54")) {
                try await $0.explain("http://ads.example/")
            }
            answer.expect(rung: "dns", party: "resolver", says: ["203.0.113.54", "blocks"], not: ["VPN"])
        }

        @Test("S13: /etc/hosts overrides the name with a dead address")
        func s13() async throws {
            let answer = try await lab().during(.hosts("203.0.113.11 v4.example")) {
                try await $0.explain("http://v4.example/")
            }
            answer.expect(
                rung: "tcp", party: "mine", says: ["/etc/hosts", "203.0.113.11", "203.0.113.10"])
        }

        @Test("S14: /etc/resolv.conf names no server")
        func s14() async throws {
            let answer = try await lab().during(.resolvers()) { try await $0.explain(page) }
            answer.expect(rung: "dns", party: "mine", says: ["/etc/resolv.conf"], not: ["start this host's"])
        }

        @Test("S25: the first resolver is dead, the second one works")
        func s25() async throws {
            let answer = try await lab().during(.resolvers("203.0.113.57", "203.0.113.53")) {
                try await $0.explain(page, timeout: "10s")
            }
            answer.expect(rung: nil, party: nil, says: ["203.0.113.57"])
        }

        @Test("A short name that only the last of five search domains has, and a resolver that takes 250 ms")
        func searchList() async throws {
            let lab = try lab()
            let server = try ScriptedNameServer(
                after: .milliseconds(250), at: IPAddress(ipv4: 0xCB00_7102), in: lab.namespace(.servers)
            ) { question in
                let name = Array(question.dropFirst(12).prefix { $0 != 0 }) + [0]
                let isKnown = ["www.example", "a.root-servers.net"].contains { DNSMessageBytes.name($0) == name }
                let isFour = DNSMessageBytes.type(of: question) == 1
                let records: [DNSMessageBytes.Record] = isKnown && isFour ? [.init(1, [203, 0, 113, 10])] : []
                return [DNSMessageBytes(code: isKnown ? 0 : 3, answers: records).reply(to: question)]
            }
            let domains = ["a.test", "b.test", "c.test", "d.test", "example"]
            try await lab.during(.resolvers("203.0.113.2", searching: domains)) { lab in
                try await lab.explain("http://www/").expect(rung: nil, party: nil)
                let denied = try await lab.explain("http://wwww/")
                denied.expect(rung: "dns", party: "mine", says: ["wwww", "does not exist"])
            }
            withExtendedLifetime(server) {}
        }

        @Test("S40: the only resolver is dead, and the way to it works")
        func s40() async throws {
            let answer = try await lab().during(.resolvers("203.0.113.57")) { try await $0.explain(page) }
            answer.expect(rung: "dns", party: "resolver", says: ["203.0.113.57"])
        }

        @Test("S41: nothing listens on the resolver's port")
        func s41() async throws {
            let answer = try await lab().during(.resolvers("203.0.113.55")) { try await $0.explain(page) }
            answer.expect(rung: "dns", party: "resolver", says: ["203.0.113.55"])
        }

        @Test("S42: the resolver refuses to answer")
        func s42() async throws {
            let answer = try await lab().during(.resolvers("203.0.113.56")) { try await $0.explain(page) }
            answer.expect(rung: "dns", party: "resolver", says: ["203.0.113.56"])
            #expect(answer.says("REFUSED"), "\(answer)")
        }

        @Test("S54: the only resolver answers after 1.5 s", arguments: [page, nil])
        func s54(_ subject: String?) async throws {
            let answer = try await lab().during(.resolvers("203.0.113.58")) { try await $0.explain(subject) }
            answer.expect(rung: nil, party: nil, says: ["203.0.113.58", "answers after"])
        }

        @Test("S55: packets to the resolver are lost, one of two, three of four", arguments: ["mod 2 0", "mod 4 < 3"])
        func s55(_ lost: String) async throws {
            let answer = try await lab().during(
                .rules(.servers, "chain l { type filter hook input priority 0; udp dport 53 numgen inc \(lost) drop; }")
            ) { try await $0.explain(page) }
            answer.expect(rung: nil, party: nil)
        }

        @Test("S56: the only resolver is slow, and wait takes it for one that answers")
        func s56() async throws {
            let end = try await lab().during(.resolvers("203.0.113.58")) {
                try await $0.run(["wait", "--for", "dns", "--timeout", "10s"])
            }
            #expect(end.status == 0, "\(end)")
        }

        @Test("S50: a name without an IPv6 address, asked for over IPv6")
        func s50() async throws {
            let answer = try await lab().explain("http://v4.example/", "-6")
            answer.expect(rung: "dns", party: "mine", says: ["IPv6"])
        }
    }
}
