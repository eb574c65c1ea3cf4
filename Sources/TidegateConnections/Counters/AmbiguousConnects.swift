package import TidegateCore
package import TidegateNetwork

/// Connects that ended without a sign of what became of them: given up, refused or unreachable.
///
/// For a program that was told of an ICMP error the kernel counts a failed connect, for one that gave up it does not. So
/// those of a second are judged together by its counters: no more were unreachable than ICMP messages came, some of which
/// may have been about something else, and which ones is a guess.
package struct AmbiguousConnects: Sendable {
    private var waiting: [(report: SocketReport, isTorn: Bool)] = []
    // Connects of this second whose end the kernel counts, and which are explained.
    private var explained: UInt64 = 0
    private var timedOut: UInt64 = 0
    private var last: TCPCounters?

    package init() {}

    /// Holds a connect back.
    package mutating func add(_ report: SocketReport, isTorn: Bool) { self.waiting.append((report, isTorn)) }

    /// A connect ended in a way that needs no judgement.
    package mutating func explain(_ outcome: ConnectionOutcome) {
        switch outcome {
        case .refused, .notSent: self.explained += 1
        case .noAnswer: self.timedOut += 1
        case .established, .unreachable, .abandoned, .closed, .reset, .lost, .aborted: break
        }
    }

    /// Judges those of the second that ends, by the kernel's counters now; nil if they cannot be read: then nothing says
    /// that one was unreachable.
    package mutating func assess(by counters: TCPCounters?) -> [(report: SocketReport, outcome: ConnectionOutcome)] {
        defer {
            (self.waiting, self.explained, self.timedOut) = ([], 0, 0)
            self.last = counters ?? self.last
        }
        let counters = counters ?? self.last ?? TCPCounters()
        let last = self.last ?? counters
        let failed = counters.attemptFails.growth(since: last.attemptFails)
        let kernelTimeouts = min(self.timedOut, counters.timeoutAborts.growth(since: last.timeoutAborts))
        let messages = counters.unreachableMessages.growth(since: last.unreachableMessages)
        var unreachable = min(messages, failed.growth(since: self.explained + kernelTimeouts))
        // A torn one had failed for certain: the kernel counted it.
        return self.waiting.sorted { $0.isTorn && !$1.isTorn }.map { report, isTorn in
            guard unreachable > 0 else { return (report, isTorn ? .refused : .abandoned) }
            unreachable -= 1
            return (report, .unreachable)
        }
    }
}
