import Foundation
import Testing
import TidegateTestKit

/// The same outages while a sidecar runs: page, API and metrics say what `explain` says at the same time.
///
/// Each test has a lab of its own.
@Suite(
    .timeLimit(.minutes(10)),
    .enabled(if: NetworkNamespace.isAvailable, "network namespaces need root and ip(8)"))
struct SidecarAgreement {
    struct Outage: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let rung: String?
        let party: String?
        let outages: [SituationLab.Outage]
        /// Whether the sidecar makes internet checks.
        var checksInternet = false
        /// Whether requests fail in silence, so that whose failure it was has to settle.
        var isSilent = false
        /// Whether the sidecar has seen what `explain` has not.
        var remembers = false

        init(_ name: String, rung: String?, party: String?, _ outages: SituationLab.Outage...) {
            (self.testDescription, self.rung, self.party, self.outages) = (name, rung, party, outages)
        }

        func with(_ change: (inout Outage) -> Void) -> Outage {
            var copy = self
            change(&copy)
            return copy
        }
    }

    static let outages = [
        Outage(
            "S1: the router answers, and forwards nothing", rung: "internet", party: "upstream",
            .forwardsNothing(.router)
        ).with { $0.isSilent = true },
        // Besides the targets that fail in every situation: S8, S29, S32 and S39.
        Outage(
            "S13: /etc/hosts overrides a name with a dead address", rung: nil, party: nil,
            .hosts("203.0.113.11 v4.example")),
        Outage("S54: the only resolver answers after 1.5 s", rung: nil, party: nil, .resolvers("203.0.113.58")),
        Outage("S40: the only resolver is dead", rung: "dns", party: "resolver", .resolvers("203.0.113.57")),
        Outage(
            "S43: the uplink has no carrier", rung: "carrier", party: "mine",
            .ip(.router, "link set lan down", undo: "link set lan up")),
        Outage(
            "S45: there is no default route", rung: "route", party: "mine",
            .ip(.client, "-4 route del default", undo: "route list"),
            .ip(.client, "-6 route del default", undo: "route list")),
        Outage(
            "S51: the provider is dead, with an internet check", rung: "internet", party: "upstream",
            .dead(.provider)
        ).with { ($0.isSilent, $0.checksInternet) = (true, true) },
        Outage("S52: the router is dead", rung: "gateway", party: "gateway", .dark(.router, "lan"))
            .with { ($0.isSilent, $0.remembers) = (true, true) },
    ]

    @Test("Page, API and metrics agree with explain, and recover", arguments: Self.outages)
    func agrees(_ outage: Outage) async throws {
        let lab = try await SituationLab()
        try await lab.withSidecar(checkingInternet: outage.checksInternet) { sidecar in
            try await sidecar.expectHealth()
            let before = try await sidecar.failuresByParty()
            try await lab.during(outage.outages) { lab in
                let host = try await lab.explain(nil)
                host.expect(rung: outage.rung, party: outage.party)
                try await sidecar.expectAgreement(with: host, remembers: outage.remembers)
                // The sidecar goes on with the addresses that a dead resolver has given before.
                let targets = SidecarTarget.all.filter { outage.rung != "dns" || $0.isAddress }
                for (target, answer) in try await lab.explain(targets) {
                    try await sidecar.expectAgreement(on: target, with: answer)
                }
                if outage.isSilent { try await sidecar.expectFailures(of: outage.party, since: before) }
            }
            try await sidecar.expectHealth()
        }
    }

    @Test(
        "A sidecar that starts in an outage says of this host, and of names it never resolved, what explain says",
        arguments: Self.outages.filter { ["S1", "S40", "S52"].contains($0.testDescription.prefix { $0 != ":" }) })
    func startsIn(_ outage: Outage) async throws {
        try await SituationLab().during(outage.outages) { lab in
            try await lab.withSidecar(checkingInternet: false) { sidecar in
                let host = try await lab.explain(nil)
                host.expect(rung: outage.rung, party: outage.party)
                try await sidecar.expectAgreement(with: host, remembers: false)
                for (target, answer) in try await lab.explain(SidecarTarget.all) {
                    try await sidecar.expectAgreement(on: target, with: answer)
                }
            }
        }
    }

    // The router's few answers have to be read within the time that a diagnosis has.
    @Test(
        "S1: a router that limits its ICMP, as Linux does, is not charged with its provider's outage",
        .enabled(if: QuietMachine.isAvailable, "needs a quiet machine"))
    func limitedICMP() async throws {
        let lab = try await SituationLab()
        try await lab.withSidecar(checkingInternet: false) { sidecar in
            try await sidecar.expectHealth()
            let before = try await sidecar.failuresByParty()
            let forwardsNothing = try #require(Self.outages.first).outages
            try await lab.during([.limitedICMP(.router)] + forwardsNothing) { _ in
                try await sidecar.expectParty("upstream", after: 5, since: before)
            }
        }
    }

    @Test("No level goes down at the start because nothing has been asked yet", arguments: [false, true])
    func start(checkingInternet: Bool) async throws {
        let lab = try await SituationLab()
        try await lab.withSidecar(checkingInternet: checkingInternet) { sidecar in
            try await sidecar.expectHealth()
            let levels = sidecar.levelChanges
            for (scope, changes) in levels where !SidecarTarget.all.contains(where: { $0.fails(scope) }) {
                let ranks = changes.map(Self.rank)
                #expect(ranks == ranks.sorted(), "\(scope): \(changes); \(sidecar.log)")
            }
            #expect(!levels.isEmpty, "\(sidecar.log)")
        }
    }

    private static func rank(_ level: String) -> Int {
        ["unknown", "none", "local", "portal", "limited", "routed", "online"].firstIndex(of: level) ?? -1
    }
}

extension SituationLab {
    /// What `explain` says of targets, asked about at once.
    fileprivate func explain(_ targets: [SidecarTarget]) async throws -> [(SidecarTarget, SituationAnswer)] {
        try await withThrowingTaskGroup(of: (SidecarTarget, SituationAnswer).self) { group in
            for target in targets { group.addTask { (target, try await self.explain(target.subject)) } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
    }
}
