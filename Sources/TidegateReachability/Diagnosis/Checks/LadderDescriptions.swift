internal import TidegateCore

/// Sentences that several rungs share.
enum LadderDescriptions {
    /// What a successful request proves.
    static func passive(_ findings: PassiveFindings, ago: Duration) -> String {
        "a request to \(findings.remote) succeeded \(ago.shortText) ago"
    }

    /// What connections of other programs prove about a gateway.
    static func answering(_ findings: ConnectionFindings) -> String {
        let remotes = findings.answering
        return "\(remotes) remote\(remotes == 1 ? "" : "s") behind it answer\(remotes == 1 ? "s" : "") other programs"
    }

    /// What connections of other programs to a remote prove about it.
    static func connections(_ report: RemoteReport) -> [String] {
        var lines: [String] = []
        let count = report.stalledCount
        if count > 0 {
            let silence = report.answered.map { ", silent for \($0.shortText)" } ?? ""
            let next = report.nextTry.map { "; the kernel tries again in \($0.shortText)" } ?? ""
            lines.append(
                "\(count) connection\(count == 1 ? "" : "s") of other programs to \(report.remote) "
                    + "hang\(count == 1 ? "s" : "")\(silence)\(next)")
        } else if report.established > 0, let answered = report.answered {
            let others = report.established
            lines.append(
                "other programs have \(others) connection\(others == 1 ? "" : "s") to \(report.remote), "
                    + "which answered \(answered.shortText) ago")
        }
        let failures = ConnectionOutcome.allCases.filter { $0.isFailure && report.outcomes[$0] ?? 0 > 0 }
        if !failures.isEmpty {
            let counts = failures.map { "\($0.description) \(report.outcomes[$0] ?? 0)" }.joined(separator: ", ")
            lines.append("other programs' connections to \(report.remote) in the last 5 minutes: \(counts)")
        }
        return lines
    }

    /// The sender of an ICMP error, and its kind.
    static func refusal(_ refusal: ICMPError, own: IPAddress?, gateway: IPAddress?) -> String {
        let role = refusal.isFrom(own) ? "this host" : refusal.isFrom(gateway) ? "the gateway" : nil
        return refusal.sentence(about: nil, role: role)
    }

    /// The evidence for an unchecked rung while the reason is unknown.
    static let unchecked = "not checked"
}

extension RungReport {
    /// A rung that does not exist on this path, or cannot be checked for this target.
    static func notApplicable(_ rung: Rung, _ text: String) -> RungReport {
        RungReport(rung: rung, status: .notApplicable, evidence: [text])
    }

    /// A rung without results, for example because a lower one fails.
    static func unknown(_ rung: Rung, _ evidence: [String] = [LadderDescriptions.unchecked]) -> RungReport {
        RungReport(rung: rung, status: .unknown, evidence: evidence)
    }
}

extension HopWalkResult {
    /// The first hop's round trip; nil if it did not answer.
    var firstHop: Duration? { self.answers.first { $0.hop == 1 }?.duration }

    /// The routers as report values.
    var values: [RungValues.Hop] {
        self.answers.map { RungValues.Hop(limit: $0.hop, router: $0.address, duration: $0.duration) }
    }

    /// The findings of the walk, in one clause; `place` is its destination.
    func evidence(to place: String) -> String {
        if let arrival = self.arrival {
            let hops = "\(arrival.hop) hop\(arrival.hop == 1 ? "" : "s")"
            return "\(self.destination) answers, \(hops) away, \(arrival.duration.shortText)"
        }
        if !self.loop.isEmpty {
            let routers = self.loop.map(\.description).joined(separator: ", ")
            return "packets to \(place) go in circles between \(routers)"
        }
        guard let last = self.lastAnswer else { return "no router answers on the way to \(place)" }
        let time = last.duration.shortText
        return "the last router that answers on the way to \(place) is \(last.address) (hop \(last.hop), \(time))"
    }
}
