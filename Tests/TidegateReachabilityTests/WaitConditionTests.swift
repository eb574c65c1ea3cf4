internal import Testing
@testable internal import TidegateCore
internal import TidegateReachability

/// Which rung a condition fails on, if it does not hold.
struct WaitConditionTests {
    @Test(
        "Every condition is parsed from its written form",
        arguments: [
            "carrier", "carrier:eth0", "address", "address:eth0", "address:v4", "address:eth0:v6", "route", "route:v4",
            "gateway", "dns", "dns:db.example", "internet", "http://10.0.0.1/",
            "https://api.example.com:8443/health?x=1",
            "host:api.example.com", "host:api.example.com:443/tls", "host:[::1]:443/tls", "host:10.0.0.1:80/http",
            "dns:bücher.example", "host:bücher.example:443/tls", "https://bücher.example/x?y",
        ])
    func roundTrip(text: String) throws {
        #expect(try WaitCondition(text).description == text)
    }

    @Test("A host with a port is checked by a connection")
    func defaultCheck() throws {
        #expect(try WaitCondition("host:db:5432") == .host(try Target("db:5432"), .tcp))
        #expect(try WaitCondition("host:db") == .host(try Target("db"), nil))
        #expect(try WaitCondition("host:[::1]:443") == .host(try Target("[::1]:443"), .tcp))
    }

    @Test("A host beyond ASCII is the one that the DNS has")
    func international() throws {
        #expect(try WaitCondition("host:bücher.example:1") == .host(try Target("xn--bcher-kva.example:1"), .tcp))
    }

    @Test(
        "What is wrong is quoted",
        arguments: [
            ("online", "\"online\" is not a condition"),
            ("gateway:v4", "\"v4\" in \"gateway:v4\" is not allowed; choose the family with -4 or -6"),
            ("dns:", "\"dns:\" names no host"),
            ("dns:10.0.0.1", "\"10.0.0.1\" in \"dns:10.0.0.1\" is not a name; wait for an address with host:"),
            ("dns:db:53", "\"db:53\" in \"dns:db:53\" is not a name"),
            ("ftp://db/", "\"ftp://db/\" is not an http:// or https:// URL"),
            ("https://", "\"https://\" names no host"),
            ("http://a b/", "\"http://a b/\" has a space or a control character in it"),
            ("host:fe80::1%eth9", "the zone \"eth9\" in \"fe80::1%eth9\" names no interface"),
            ("host:[fe80::1%0]:22", "the zone \"0\" in \"[fe80::1%0]:22\" names no interface"),
            ("host:b\u{FFFD}cher.de", "\"b\u{FFFD}cher.de\" has characters that no host name has"),
            ("route:v5", "\"v5\" in \"route:v5\" is neither v4 nor v6"),
            ("address:eth0:v5", "\"v5\" in \"address:eth0:v5\""),
            ("carrier:", "\"\" in \"carrier:\" is not an interface name"),
            ("carrier:a/b", "\"a/b\" in \"carrier:a/b\" is not an interface name"),
            ("host:", "\"host:\" names no host"),
            ("host:db:99999", "\"99999\" in \"db:99999\" is not a port"),
            ("host:db/tls", "the check \"tls\" in \"host:db/tls\" needs a port"),
            ("host:db:1/smtp", "\"smtp\" in \"host:db:1/smtp\" is not a check"),
            ("host:[::1:443", "never closes"),
        ])
    func errors(text: String, message: String) {
        let error = #expect(throws: WaitConditionError.self) { try WaitCondition(text) }
        #expect(error?.description.contains(message) ?? false, "\(error?.description ?? "no error")")
    }

    // MARK: Evaluation

    private let eth0 = Link(
        name: "eth0", index: 2, kind: .ethernet, isAdminUp: true, hasCarrier: true, operState: .up, reason: nil,
        usableFamilies: [.ipv4])
    private let unplugged = Link(
        name: "eth0", index: 2, kind: .ethernet, isAdminUp: true, hasCarrier: false, operState: .down,
        reason: .noCarrier)
    private let routed = Verdict(level: .routed)

    private func status(
        _ ipv4: Verdict, _ ipv6: Verdict = Verdict(level: .none, reason: .noAddress), links: [Link],
        targets: [TargetVerdict] = []
    ) -> ReachabilityStatus {
        let families: [ReachabilityStatus.Family] = [
            .init(family: .ipv4, verdict: ipv4), .init(family: .ipv6, verdict: ipv6),
        ]
        return ReachabilityStatus(
            global: ReachabilityStatus.global(over: families), mode: .event, families: families, links: links,
            targets: targets, health: .init())
    }

    private func outcome(
        _ text: String, _ status: ReachabilityStatus, _ family: AddressFamily? = nil,
        _ evidence: ConditionEvidence = .pending
    ) throws -> WaitOutcome {
        try WaitCondition(text).evaluate(status, family: family, evidence: evidence)
    }

    @Test("Routes, carriers and addresses are evaluated by family and by link")
    func links() throws {
        let good = self.status(self.routed, links: [self.eth0])
        for text in ["carrier", "carrier:eth0", "address", "address:eth0", "address:eth0:v4", "route", "route:v4"] {
            #expect(try self.outcome(text, good) == .satisfied, "\(text)")
        }
        var bare = self.eth0
        bare.usableFamilies = []
        let loopback = self.status(self.routed, links: [bare])
        #expect(try self.outcome("address:v4", loopback) == .satisfied, "the source is an address of lo")
        #expect(try self.outcome("address:eth0:v4", loopback) != .satisfied)
        #expect(
            try self.outcome("route", good, .ipv6) == .unsatisfied(.address, .noAddress, sentence: "no address (v6)"))
        #expect(
            try self.outcome("address:eth0:v6", good)
                == .unsatisfied(.address, .noAddress, sentence: "no address on eth0 (v6)"))
        #expect(
            try self.outcome("carrier:eth9", good)
                == .unsatisfied(.interface, .noInterface, sentence: "there is no interface eth9"))
    }

    @Test("A link can be named by an alternative name of any length")
    func alternativeNames() throws {
        var link = self.eth0
        link.alternativeNames = ["office", "enx-the-one-behind-the-printer"]
        let good = self.status(self.routed, links: [link])
        for name in link.alternativeNames {
            #expect(try self.outcome("carrier:\(name)", good) == .satisfied)
            #expect(try self.outcome("address:\(name):v4", good) == .satisfied)
            #expect(
                try self.outcome("address:\(name):v6", good)
                    == .unsatisfied(.address, .noAddress, sentence: "no address on \(name) (v6)"))
        }
        var excluded = link
        excluded.isExcluded = true
        #expect(try self.outcome("address:office", self.status(self.routed, links: [excluded])) == .satisfied)
        #expect(throws: WaitConditionError.self) { try WaitCondition("carrier:" + String(repeating: "x", count: 128)) }
    }

    @Test("The message names the first unsatisfied rung")
    func text() throws {
        let none = Verdict(level: .none, reason: .noCarrier)
        let bad = self.status(none, none, links: [self.unplugged])
        let carrier = WaitOutcome.unsatisfied(.carrier, .noCarrier, sentence: "eth0 has no carrier")
        for text in ["carrier", "carrier:eth0", "address", "address:eth0", "route"] {
            #expect(try self.outcome(text, bad) == carrier, "\(text)")
        }
        #expect(VerdictDescriptions.faults(in: bad, of: AddressFamily.allCases) == "eth0 has no carrier")
        let local = self.status(Verdict(level: .local, reason: .noRoute), links: [self.eth0])
        #expect(
            try self.outcome("route", local)
                == .unsatisfied(.route, .noRoute, sentence: "default route missing (v4), no address (v6)"))
        #expect(try self.outcome("route", .unavailable(mode: .event)).isSatisfied == false)
    }

    @Test("A URL is evaluated by the way to its host, then by its answer; a name without a default route by its answer")
    func urlsAndNames() throws {
        let url = "https://db:8443/health"
        let address = try address("198.51.100.2")
        let up = TargetVerdict(
            target: try Target("db:8443"), verdict: self.routed,
            addresses: [AddressVerdict(address: address, verdict: self.routed)])
        let good = self.status(self.routed, links: [self.eth0], targets: [up])
        #expect(try WaitCondition(url).target == Target("db:8443"))
        #expect(try self.outcome(url, good, nil, .passed) == .satisfied)
        #expect(try self.outcome(url, good) == .unsatisfied(.http, nil, sentence: "\(url) has not answered yet"))
        #expect(
            try self.outcome(url, good, nil, .failed(.httpError, detail: "the server answered with status 503"))
                == .unsatisfied(.http, .httpError, sentence: "\(url): the server answered with status 503"))
        let cut = self.status(Verdict(level: .none, reason: .noCarrier), links: [self.unplugged])
        #expect(try self.outcome("dns:db", cut, nil, .passed) == .satisfied)
        #expect(
            try self.outcome("dns:db", cut, nil, .failed(.resolverTimeout))
                == self.outcome("route", cut), "without a route, that is what is missing")
        #expect(
            try self.outcome("dns:db", good, nil, .failed(.nameNotFound))
                == .unsatisfied(.dns, .nameNotFound, sentence: "db: the name does not exist"))
    }

    @Test("A host is evaluated by its addresses, then by its check")
    func hosts() throws {
        let target = try Target("db:5432")
        let address = try address("198.51.100.2")
        let up = TargetVerdict(
            target: target, verdict: self.routed, addresses: [AddressVerdict(address: address, verdict: self.routed)])
        let good = self.status(self.routed, links: [self.eth0], targets: [up])
        #expect(try self.outcome("host:db:5432", good, nil, .passed) == .satisfied)
        #expect(
            try self.outcome("host:db:5432", good)
                == .unsatisfied(.tcp, nil, sentence: "db:5432 has not answered yet"))
        #expect(
            try self.outcome("host:db:5432", good, nil, .failed(.refused))
                == .unsatisfied(.tcp, .refused, sentence: "db:5432: the connection was refused"))
        #expect(
            try self.outcome("host:db:5432", good, .ipv6)
                == .unsatisfied(.dns, .nameNotFound, sentence: "db has no v6 address"))
        let lost = TargetVerdict(target: target, verdict: Verdict(level: .none, reason: .nameNotFound))
        #expect(
            try self.outcome("host:db:5432", self.status(self.routed, links: [self.eth0], targets: [lost]))
                == .unsatisfied(.dns, .nameNotFound, sentence: "db: the name does not exist"))
        let noWay = Verdict(level: .none, reason: .noCarrier)
        let cut = TargetVerdict(
            target: target, verdict: noWay, addresses: [AddressVerdict(address: address, verdict: noWay)])
        let status = self.status(noWay, links: [self.unplugged], targets: [cut])
        #expect(
            try self.outcome("host:db:5432", status)
                == .unsatisfied(.carrier, .noCarrier, sentence: "db:5432: eth0 has no carrier"))
        #expect(VerdictDescriptions.phrase(cut.verdict, among: status.links) == "eth0 has no carrier")
    }
}
