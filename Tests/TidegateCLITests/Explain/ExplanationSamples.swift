import Tidegate

/// Explanations that tests draw.
enum ExplanationSamples {
    static let lower: [RungReport] = [
        .init(rung: .monitor, status: .ok, evidence: ["events, consistent"]),
        .init(rung: .interface, status: .ok, evidence: ["eth0, index 2, ethernet, admin up"]),
        .init(rung: .carrier, status: .ok, evidence: ["operstate up"]),
        .init(rung: .address, status: .ok, evidence: ["10.0.0.2/24 on eth0"]),
    ]

    static let route = RungReport(
        rung: .route, status: .ok,
        evidence: [
            "198.51.100.2 via 10.0.0.1 dev eth0 src 10.0.0.2, table main", "rule 32766: from all lookup main",
            "loses: default via 192.168.1.1 dev wlan0 table main metric 600 (higher metric)",
        ])

    static let gateway = RungReport(
        rung: .gateway, status: .ok, evidence: ["10.0.0.1 is 02:00:5e:10:00:01, reachable"])

    static let dns = RungReport(
        rung: .dns, status: .ok, evidence: ["192.0.2.53 answered in 12 ms: 198.51.100.2, 300 s to live"])

    static func unclimbed(_ rungs: Rung...) -> [RungReport] { rungs.map { .init(rung: $0, status: .unknown) } }

    static let noIPv6: [RungReport] =
        [
            .init(rung: .monitor, status: .ok), .init(rung: .interface, status: .ok),
            .init(rung: .carrier, status: .ok),
            .init(rung: .address, status: .bad, reason: .noAddress, evidence: ["eth0 has fe80::1/64 only"]),
        ] + unclimbed(.route, .gateway, .dns, .internet, .tcp, .tls, .http)

    static func explanation(
        _ target: String, _ addresses: String..., ipv4: [RungReport], ipv6: [RungReport], failure: RungReport?,
        party: FaultParty?, advice: String
    ) -> Explanation {
        Explanation(
            target: target, addresses: addresses.compactMap { IPAddress($0) },
            ladders: [.init(family: .ipv4, rungs: ipv4), .init(family: .ipv6, rungs: ipv6)], firstFailure: failure,
            party: party, advice: advice)
    }

    static let reached = explanation(
        "https://api.example.com/health", "198.51.100.2", "2001:db8::2",
        ipv4: lower + [
            route, gateway, dns, .init(rung: .internet, status: .unknown),
            .init(rung: .tcp, status: .ok, evidence: ["198.51.100.2:443 connected in 24 ms"]),
            .init(rung: .tls, status: .ok, evidence: ["certificate of api.example.com until Nov 21 12:00:00 2027 GMT"]),
            .init(rung: .http, status: .ok, evidence: ["204 in 31 ms"]),
        ], ipv6: noIPv6, failure: nil, party: nil, advice: "The target answers over IPv4; IPv6 has no address here.")

    static let cableOut: Explanation = {
        let carrier = RungReport(
            rung: .carrier, status: .bad, reason: .noCarrier, evidence: ["eth0 is admin up and has operstate down"])
        let rungs =
            [lower[0], lower[1], carrier]
            + unclimbed(.address, .route, .gateway, .dns, .internet, .tcp, .tls, .http)
        return explanation(
            "api.example.com:443", ipv4: rungs, ipv6: rungs, failure: carrier, party: .mine,
            advice: "Plug in the cable of eth0, or look at the switch port on its other end.")
    }()

    static let portal: Explanation = {
        let long =
            "http://portal.example/login?continue=" + String(repeating: "http%3A%2F%2Fexample.com%2Fa%2Fb", count: 4)
        let internet = RungReport(
            rung: .internet, status: .bad, reason: .portal,
            evidence: ["http://connectivity.example/generate_204 answered 302 with Location: \(long)"])
        return explanation(
            "http://example.com/", "198.51.100.2",
            ipv4: lower + [route, gateway, dns, internet]
                + unclimbed(.tcp) + [.init(rung: .tls, status: .notApplicable), .init(rung: .http, status: .unknown)],
            ipv6: noIPv6, failure: internet, party: .upstream,
            advice: "Open any http:// page in a browser and sign in at the captive portal.")
    }()

    static let expired: Explanation = {
        let tls = RungReport(
            rung: .tls, status: .bad, reason: .tlsFailed,
            evidence: [
                "certificate has expired: api.example.com until Nov 20 12:00:00 2025 GMT, signed by Example CA"
            ])
        return explanation(
            "https://api.example.com/", "198.51.100.2",
            ipv4: lower + [
                route, gateway, dns, .init(rung: .internet, status: .notApplicable),
                .init(rung: .tcp, status: .ok, evidence: ["connected in 24 ms"]), tls,
                .init(rung: .http, status: .unknown),
            ], ipv6: noIPv6, failure: tls, party: .theirs,
            advice: "Ask whoever runs api.example.com to renew its certificate, or set this host's clock.")
    }()

    static let silentGateway: Explanation = {
        let gateway = RungReport(
            rung: .gateway, status: .bad, reason: .gatewayUnresolved,
            evidence: ["10.0.0.1 on eth0 is failed in the neighbour table", "no answer to a UDP poke at port 9"])
        return explanation(
            "198.51.100.2:443", "198.51.100.2",
            ipv4: lower + [route, gateway] + unclimbed(.dns, .internet, .tcp, .tls, .http), ipv6: noIPv6,
            failure: gateway, party: .gateway, advice: "Restart the router at 10.0.0.1, or check its cable.")
    }()

    static let noSuchName: Explanation = {
        let dns = RungReport(
            rung: .dns, status: .bad, reason: .nameNotFound, evidence: ["192.0.2.53 says NXDOMAIN after 9 ms"])
        return explanation(
            "nosuch.example", ipv4: lower + [route, gateway, dns] + unclimbed(.internet, .tcp, .tls, .http),
            ipv6: noIPv6, failure: dns, party: .theirs, advice: "Check how the name is written.")
    }()
}
