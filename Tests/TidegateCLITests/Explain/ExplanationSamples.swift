import Tidegate
@testable import TidegateCore

/// Explanations that tests draw, as a diagnosis composes them.
enum ExplanationSamples {
    static let gatewayAddress = IPAddress(ipv4: 0x0A00_0001)

    static let lower: [RungReport] = [
        .init(rung: .monitor, status: .ok, evidence: ["2 links read from the kernel"]),
        .init(rung: .interface, status: .ok, evidence: ["eth0: index 2, ethernet, admin up"]),
        .init(rung: .carrier, status: .ok, evidence: ["eth0: carrier, operstate up"]),
    ]

    static let address4 = RungReport(rung: .address, status: .ok, evidence: ["source 10.0.0.2 on eth0"])
    static let address6 = RungReport(rung: .address, status: .ok, evidence: ["source 2001:db8::9 on eth0"])

    static let route4 = RungReport(
        rung: .route, status: .ok,
        evidence: ["198.51.100.2 via 10.0.0.1 dev eth0 src 10.0.0.2", "by rule 32766: from all lookup main"])
    static let route6 = RungReport(
        rung: .route, status: .ok, evidence: ["2001:db8::2 via fe80::1 dev eth0 src 2001:db8::9"])

    static let gateway = RungReport(
        rung: .gateway, status: .ok, evidence: ["neighbour 10.0.0.1 dev eth0 lladdr 02:00:5e:10:00:01 REACHABLE"])

    static let dns = RungReport(rung: .dns, status: .ok, evidence: ["api.example.com is 198.51.100.2"])

    static func unchecked(_ rungs: Rung..., after rung: Rung) -> [RungReport] {
        rungs.map { .init(rung: $0, status: .unknown, evidence: ["not tried: \(rung.rawValue) failed"]) }
    }

    private static func measured(
        _ rung: Rung, _ evidence: String, milliseconds: Int, httpStatus: Int? = nil
    ) -> RungReport {
        var report = RungReport(rung: rung, status: .ok, evidence: [evidence])
        (report.values.duration, report.values.status) = (.milliseconds(milliseconds), httpStatus)
        return report
    }

    static let answer: [RungReport] = [
        .init(rung: .internet, status: .unknown, evidence: ["no internet check is configured"]),
        measured(.tcp, "connected to 198.51.100.2:443 in 24 ms", milliseconds: 24),
        measured(.tls, "handshake in 31 ms", milliseconds: 31),
        measured(.http, "status 204 after 12 ms", milliseconds: 12, httpStatus: 204),
    ]

    static let noIPv6: Explanation.Ladder = {
        let cause = Cause.thisHost(.kernel(.init(reason: .noAddress, family: .ipv6)))
        return Explanation.Ladder(
            family: .ipv6,
            rungs: lower + [
                .init(
                    rung: .address, status: .bad, reason: .noAddress, evidence: ["no address", "eth0 has fe80::1/64"])
            ] + unchecked(.route, .gateway, .dns, .internet, .tcp, .tls, .http, after: .address), cause: cause)
    }()

    static func addresses(_ texts: String...) -> [IPAddress] { texts.compactMap { IPAddress($0) } }

    static let reached = Explanation(
        target: "https://api.example.com/health", addresses: addresses("198.51.100.2", "2001:db8::2"),
        ladders: [
            .init(family: .ipv4, rungs: lower + [address4, route4, gateway, dns] + answer),
            .init(family: .ipv6, rungs: lower + [address6, route6, gateway, dns] + answer),
        ], conclusion: .works)

    static let reachedBut: Explanation = {
        var explanation = Explanation(
            target: "https://api.example.com/health", addresses: addresses("198.51.100.2", "2001:db8::2"),
            ladders: [.init(family: .ipv4, rungs: lower + [address4, route4, gateway, dns] + answer), noIPv6],
            conclusion: .worksBut)
        (explanation.findings, explanation.failingFamilies) = (["IPv6 does not work: no address"], [.ipv6])
        return explanation
    }()

    static func broken(
        _ target: String, _ addresses: [IPAddress], _ ladders: [Explanation.Ladder], _ cause: Cause, _ advice: String
    ) -> Explanation {
        Explanation(
            target: target, addresses: addresses, ladders: ladders, conclusion: .broken,
            firstFailure: ladders[0].firstFailure, cause: cause, party: cause.party, advice: advice)
    }

    static let cableOut: Explanation = {
        let cause = Cause.thisHost(.kernel(.init(reason: .noCarrier, link: "eth0", family: .ipv4)))
        let carrier = RungReport(
            rung: .carrier, status: .bad, reason: .noCarrier, link: "eth0",
            evidence: ["eth0 has no carrier", "eth0: no carrier, operstate down"])
        let rungs =
            [lower[0], lower[1], carrier]
            + unchecked(.address, .route, .gateway, .dns, .internet, .tcp, .tls, .http, after: .carrier)
        let ladders = AddressFamily.allCases.map { Explanation.Ladder(family: $0, rungs: rungs, cause: cause) }
        return broken(
            "api.example.com:443", [], ladders, cause,
            "Plug in the cable of eth0, or bring up another link with a default route.")
    }()

    static let expired: Explanation = {
        let text = "the certificate expired on Nov 20 12:00:00 2025 GMT"
        let cause = Cause.server(.certificate(.expired, nil))
        let tls = RungReport(
            rung: .tls, status: .bad, reason: .tlsFailed, evidence: [text, "certificate of CN=api.example.com"])
        let rungs = lower + [address4, route4, gateway, dns, answer[0], answer[1], tls]
        let ladder = Explanation.Ladder(
            family: .ipv4, rungs: rungs + unchecked(.http, after: .tls), cause: cause)
        return broken(
            "https://api.example.com/", addresses("198.51.100.2"), [ladder, noIPv6], cause,
            "Renew the certificate of api.example.com:443.")
    }()

    static let noSuchName: Explanation = {
        let cause = Cause.thisHost(.nameNotFound("nosuch.example", resolver: nil))
        let dns = RungReport(
            rung: .dns, status: .bad, reason: .nameNotFound,
            evidence: ["nosuch.example does not exist", "resolver 192.0.2.53: NXDOMAIN"])
        let rungs = lower + [address4, route4, gateway, dns]
        let ladder = Explanation.Ladder(
            family: .ipv4, rungs: rungs + unchecked(.internet, .tcp, .tls, .http, after: .dns), cause: cause)
        return broken("nosuch.example", [], [ladder, noIPv6], cause, "Check the spelling of nosuch.example.")
    }()
}
