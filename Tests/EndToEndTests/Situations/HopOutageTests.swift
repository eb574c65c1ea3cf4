import Foundation
import Testing
import TidegateTestKit

/// An outage at every hop of the way, asked about by name and by address, over both families and without a target.
@Suite(.timeLimit(.minutes(10)), .enabled(if: NetworkNamespace.isAvailable, "network namespaces need root and ip(8)"))
struct HopOutageTests {
    /// What `explain` is asked.
    struct Question: Sendable {
        let arguments: [String]
        let isIPv6: Bool
        /// Whether no name has to be resolved.
        let isAddress: Bool

        init(_ arguments: String..., isIPv6: Bool = false, isAddress: Bool = false) {
            (self.arguments, self.isIPv6, self.isAddress) = (arguments, isIPv6, isAddress)
        }

        static let all = [
            Question(), Question(Situations.page), Question(Situations.page, "-4"),
            Question(Situations.page, "-6", isIPv6: true), Question("203.0.113.10:80", isAddress: true),
            Question("[2001:db8:113::10]:80", isIPv6: true, isAddress: true),
        ]
    }

    struct Outage: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let rung: String
        let party: String
        /// What the answer names, over IPv4 and over IPv6.
        let names: (String, String)
        let outage: SituationLab.Outage

        init(
            _ name: String, _ rung: String, _ party: String, _ names: (String, String), _ outage: SituationLab.Outage
        ) {
            (self.testDescription, self.rung, self.party) = (name, rung, party)
            (self.names, self.outage) = (names, outage)
        }
    }

    private static let gateway = ("10.77.0.1", "2001:db8:77::1")
    private static let edge = ("100.64.0.1", "2001:db8:100::1")
    static let outages = [
        Outage("the router is dead", "gateway", "gateway", gateway, .dark(.router, "lan")),
        Outage("the router forwards nothing", "internet", "upstream", gateway, .forwardsNothing(.router)),
        Outage("the provider's edge is dead", "internet", "upstream", gateway, .dead(.provider)),
        Outage("the provider's edge forwards nothing", "internet", "upstream", edge, .forwardsNothing(.provider)),
        Outage("the provider's core is dead", "internet", "upstream", edge, .dead(.core)),
        Outage(
            "the provider's core forwards nothing", "internet", "upstream", ("100.65.0.2", "2001:db8:101::2"),
            .forwardsNothing(.core)),
    ]

    @Test("The party is right whatever is asked", arguments: Self.outages)
    func party(_ outage: Outage) async throws {
        try await SituationLab().during([outage.outage]) { lab in
            for (question, answer) in try await lab.explain(Question.all) {
                let name = question.isIPv6 ? outage.names.1 : outage.names.0
                answer.expect(rung: outage.rung, party: outage.party, says: [name])
            }
        }
    }

    @Test("The servers are dead, and the rest of the internet answers")
    func servers() async throws {
        try await SituationLab().during([.dead(.servers)]) { lab in
            for (question, answer) in try await lab.explain(Question.all) {
                if !question.isAddress {
                    answer.expect(rung: "dns", party: "resolver", says: ["203.0.113.53"])
                } else if question.isIPv6 {
                    answer.expect(rung: "tcp", party: "theirs", says: ["2001:db8:113::10"])
                } else {
                    answer.expect(rung: "tcp", party: "path", says: ["100.65.0.2"])
                }
            }
        }
    }

    // Linux routers answer one packet a second for themselves, after a burst of a few.
    @Test("The party stays right once the routers' ICMP is used up", arguments: Self.outages)
    func repeated(_ outage: Outage) async throws {
        let limited = [SituationLab.Host.router, .provider, .core].map { SituationLab.Outage.limitedICMP($0) }
        try await SituationLab().during(limited + [outage.outage]) { lab in
            for _ in 0..<3 {
                for question in [Question("203.0.113.10:80", isAddress: true), Question(Situations.page, "-4")] {
                    try await lab.explain([question])[0].answer.expect(rung: outage.rung, party: outage.party)
                }
            }
        }
    }

    /// The table of `make outages`: each outage, each question, ten times in a row, while routers limit their ICMP.
    @Test(
        "Every answer of ten in a row is right, without a sidecar and beside one",
        .enabled(if: ProcessInfo.processInfo.environment["TIDEGATE_OUTAGES"] != nil, "set TIDEGATE_OUTAGES"),
        arguments: Self.outages, [false, true])
    func matrix(_ outage: Outage, isWatched: Bool) async throws {
        let limited = [SituationLab.Host.router, .provider, .core].map { SituationLab.Outage.limitedICMP($0) }
        let lab = try await SituationLab()
        let sidecar = "reachability: {targets: [{name: web, host: 203.0.113.10, port: 80}]}\n"
        func ask() async throws {
            var (right, durations) = (0, [Duration]())
            try await lab.during(limited + [outage.outage], keepingNeighbours: isWatched) { lab in
                for _ in 0..<10 {
                    for question in Question.all {
                        let answer = try await lab.explain(nil, question.arguments)
                        answer.expect(rung: outage.rung, party: outage.party)
                        if answer.firstFailure == outage.rung, answer.party == outage.party { right += 1 }
                        durations.append(answer.duration)
                    }
                }
            }
            let (median, worst) = (durations.sorted()[durations.count / 2], durations.max() ?? .zero)
            print(
                "| \(outage.testDescription) | \(isWatched ? "beside a sidecar" : "alone") | \(right)/\(durations.count) |",
                "\(median.formatted(.units(allowed: [.seconds], fractionalPart: .show(length: 1)))) |",
                "\(worst.formatted(.units(allowed: [.seconds], fractionalPart: .show(length: 1)))) |")
        }
        if isWatched { try await lab.withSidecar(sidecar) { _ in try await ask() } } else { try await ask() }
    }
}

extension SituationLab {
    fileprivate func explain(
        _ questions: [HopOutageTests.Question]
    ) async throws -> [(question: HopOutageTests.Question, answer: SituationAnswer)] {
        try await withThrowingTaskGroup(of: (HopOutageTests.Question, SituationAnswer).self) { group in
            for question in questions {
                group.addTask { (question, try await self.explain(nil, question.arguments)) }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
    }
}

extension SituationLab.Outage {
    /// A router hears nothing but the link layer.
    static func dead(_ host: SituationLab.Host) -> Self {
        .rules(host, "chain p { type filter hook prerouting priority -300; policy drop; }")
    }

    /// A router answers, and forwards nothing.
    static func forwardsNothing(_ host: SituationLab.Host) -> Self {
        .rules(host, "chain f { type filter hook forward priority 0; policy drop; }")
    }
}
