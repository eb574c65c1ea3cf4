internal import TidegateCore

/// Sentences that several rungs share.
enum LadderDescriptions {
    /// `4 s`, `120 ms`, `0.4 ms`: rounded for reading.
    static func time(_ duration: Duration) -> String {
        let seconds = duration.inSeconds
        if seconds >= 120 { return "\(Int(seconds / 60)) min" }
        if seconds >= 1 { return "\(Int(seconds.rounded())) s" }
        if seconds >= 0.01 { return "\(Int((seconds * 1000).rounded())) ms" }
        let tenths = Int((seconds * 10_000).rounded())
        return "\(tenths / 10).\(tenths % 10) ms"
    }

    /// What a successful request shows.
    static func passive(_ findings: PassiveFindings, ago: Duration) -> String {
        "a request to \(findings.remote) succeeded \(self.time(ago)) ago"
    }

    /// Who sent which ICMP error.
    static func refusal(_ refusal: ICMPError, own: IPAddress?, gateway: IPAddress?) -> String {
        let role = refusal.isFrom(own) ? "this host" : refusal.isFrom(gateway) ? "the gateway" : nil
        return refusal.sentence(about: nil, role: role)
    }

    /// What is said of a rung that was not checked, until it is known why.
    static let unchecked = "not checked"

    /// A rung that was not checked, because a lower one fails.
    static func notChecked(_ rung: Rung) -> RungReport {
        RungReport(rung: rung, status: .unknown, evidence: [self.unchecked])
    }
}
