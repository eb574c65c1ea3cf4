internal import TidegateCore
internal import TidegateNetwork

/// How a connection hangs, according to one report of the kernel.
struct StallFinding: Sendable, Hashable {
    /// How it hangs.
    var kind: ConnectionStall
    /// How long it has been hanging.
    var age: Duration
    /// How often the kernel has retransmitted.
    var retransmits: Int
    /// The time until the next retransmission.
    var nextTry: Duration

    /// How long nothing was answered; nil if the remote answers but its program does not read.
    var silence: Duration? { self.kind == .window ? nil : self.age }
}

/// Decides whether a connection hangs.
enum StallDetector {
    // A single lost packet or a tail-loss probe looks the same until the second timeout.
    private static let suspiciousRetransmits = 2
    private static let shortestSilence = Duration.seconds(1)
    private static let initialTimeout = 1_000_000.0

    /// Whether a connection may hang within a second: sent data waits for an answer, and one timeout has passed.
    static func isSuspect(_ report: SocketReport) -> Bool {
        guard report.timer == .retransmission, let info = report.tcp else { return false }
        return info.unacknowledged > 0 && info.retransmits > 0 && self.stall(of: report) == nil
    }

    /// How a connection hangs; nil if it does not, or if the report cannot show it: idle connections and those that
    /// only receive look the same over a dead path.
    static func stall(of report: SocketReport) -> StallFinding? {
        switch report.state {
        case .synSent: self.connecting(report)
        case .established, .finWait1, .closeWait, .lastAck, .closing: self.established(report)
        case .synReceived, .finWait2, .timeWait, .close, .listen, .newSynReceived, .boundInactive: nil
        }
    }

    private static func connecting(_ report: SocketReport) -> StallFinding? {
        let age = self.age(of: report)
        guard age >= self.shortestSilence else { return nil }
        return StallFinding(
            kind: .connecting, age: age, retransmits: Int(report.timerExpiries), nextTry: report.timeLeft)
    }

    // The sum of the timeouts before the current one: first of 1 s each (tcp_syn_linear_timeouts in ip-sysctl, Linux
    // 6.5), then doubling. The current timeout shows how many were doubled.
    private static func age(of report: SocketReport) -> Duration {
        guard report.timer == .retransmission else { return .zero }
        let expiries = Double(min(report.timerExpiries, 30))
        let timeout = report.tcp.map { Double($0.retransmissionTimeout) } ?? self.initialTimeout
        var (doubled, length) = (0.0, self.initialTimeout)
        while length * 1.5 < timeout, doubled < expiries {
            doubled += 1
            length *= 2
        }
        let before = (expiries - doubled) * self.initialTimeout + (length - self.initialTimeout)
        let present = max(.zero, Duration.microseconds(Int64(timeout)) - report.timeLeft)
        return .microseconds(Int64(before)) + present
    }

    // The kernel doubles timeouts up to 120 s (TCP_RTO_MAX); at that limit, the first one is assumed to be 200 ms plus
    // a round trip.
    private static func timeouts(before timeout: Duration, count: Int, roundTrip: Duration) -> Duration {
        let isLongest = timeout >= self.longestTimeout
        let first = isLongest ? .milliseconds(200) + roundTrip : timeout / (1 << count)
        return (0..<count).reduce(.zero) { sum, number in sum + min(self.longestTimeout, first * (1 << number)) }
    }

    private static let longestTimeout = Duration.seconds(120)

    private static func established(_ report: SocketReport) -> StallFinding? {
        guard let info = report.tcp else { return nil }
        // Answered probes are not counted; two unanswered ones show that the window is not the problem.
        let pause = Duration.milliseconds(Int64(info.lastDataSent))
        if report.timer == .windowProbe, info.sendWindow < info.sentSegmentSize, pause >= self.shortestSilence {
            return StallFinding(
                kind: info.probes >= self.suspiciousRetransmits ? .unanswered : .window, age: pause,
                retransmits: Int(info.probes), nextTry: report.timeLeft)
        }
        let retransmits = Int(info.retransmits)
        guard info.unacknowledged > 0, retransmits >= self.suspiciousRetransmits, report.timer == .retransmission
        else { return nil }
        // Each timeout doubles the previous one, and the current one is still running. The time of the last answer is a
        // worse measure: an idle connection got it long before, and if only the outbound path is cut, the peer still
        // retransmits.
        let roundTrip = Duration.microseconds(Int64(info.roundTrip))
        let enough = max(self.shortestSilence, roundTrip * 4)
        let timeout = Duration.microseconds(Int64(info.retransmissionTimeout))
        let before = self.timeouts(before: timeout, count: min(retransmits, 30), roundTrip: roundTrip)
        let present = max(.zero, timeout - report.timeLeft)
        // The last transmission may still be answered.
        guard present >= roundTrip, before + present >= enough else { return nil }
        return StallFinding(
            kind: .unanswered, age: before + present, retransmits: retransmits, nextTry: report.timeLeft)
    }
}
