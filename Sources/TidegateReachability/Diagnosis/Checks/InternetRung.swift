internal import TidegateCore

/// Evaluates the internet as a whole, over one family.
enum InternetRung {
    /// What is said if there is nothing to check by.
    static let notConfigured = "no internet check is configured"

    /// The rung by what the check URLs answered; no observations if none are configured.
    static func report(_ observations: [InternetObservation]?, passive: PassiveFindings? = nil) -> RungReport {
        guard let observations else {
            guard let passive, let ago = passive.internet else {
                return RungReport(rung: .internet, status: .unknown, evidence: [self.notConfigured])
            }
            return RungReport(rung: .internet, status: .ok, evidence: [LadderDescriptions.passive(passive, ago: ago)])
        }
        let evidence = observations.map(\.evidence)
        switch ConnectivityEvaluator.connectivity(observations) {
        case .unknown:
            return RungReport(
                rung: .internet, status: .unknown, evidence: evidence + ["no check URL could be requested"])
        case .full: return RungReport(rung: .internet, status: .ok, evidence: evidence)
        case .portal(let location):
            let place = location.map { ": it redirects to \($0)" } ?? ""
            return RungReport(
                rung: .internet, status: .bad, reason: .portal,
                evidence: ["a captive portal answers\(place)"] + evidence)
        case .limited, .none: return RungReport(rung: .internet, status: .bad, reason: .limited, evidence: evidence)
        }
    }
}
