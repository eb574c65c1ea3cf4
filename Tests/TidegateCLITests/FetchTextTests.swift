import Testing
import Tidegate
import TidegateCore

@testable import TidegateCLI

@Suite struct FetchTextTests {
    private func line(_ change: TaskEvent.Kind, waited: Duration? = nil) -> String? {
        FetchText.line(change, label: "big.iso", waited: waited)
    }

    @Test("Each event that matters is a line, others are none")
    func lines() {
        let summary = AttemptSummary(number: 2, method: "GET", duration: .seconds(1))
        let refused = Attribution(
            party: .theirs, rung: .tcp, isCertain: true, evidence: ["their host refused the connection"])
        let lost = Attribution(party: .mine, rung: .carrier, isCertain: true)
        #expect(self.line(.attemptStarted(number: 1)) == "big.iso: started")
        #expect(self.line(.attemptStarted(number: 2)) == nil)
        #expect(
            self.line(.held(.path, detail: "no path: eth0 has no carrier"))
                == "big.iso: waiting: no path: eth0 has no carrier")
        #expect(self.line(.held(.concurrency, detail: nil)) == nil)
        #expect(self.line(.released(.path, after: .milliseconds(3100))) == nil)
        #expect(
            self.line(.attemptStarted(number: 2), waited: .milliseconds(3100))
                == "big.iso: continuing after 3.1s")
        #expect(
            self.line(.attemptFailed(summary, .connectFailed, refused, isCharged: true))
                == "big.iso: attempt 2 failed: their host refused the connection")
        #expect(self.line(.attemptFailed(summary, .stalled, lost, isCharged: false)) == "big.iso: the path was lost")
        // Not charged, as it is begun again, and yet nobody's path.
        let wrong = Attribution(party: .theirs, rung: .http, isCertain: true, evidence: ["the answer itself is wrong"])
        #expect(
            self.line(.attemptFailed(summary, .rangeMismatch, wrong, isCharged: false))
                == "big.iso: attempt 2 failed: the answer itself is wrong")
        #expect(self.line(.retryScheduled(.status(503), delay: .seconds(4))) == "big.iso: retry in 4s")
        let resumed = TransferProgress(offset: 37, receivedWire: 5, expected: 100, attempt: 2)
        #expect(self.line(.progress(resumed, delta: .init())) == "big.iso: resuming at 37 %")
        #expect(self.line(.responseHead(status: 200, expectedBytes: 63)) == nil)
        #expect(self.line(.attemptFailed(summary, .cancelled, nil, isCharged: false)) == nil)
        #expect(self.line(.progress(.init(), delta: .init())) == nil)
    }

    @Test("A summary says how much, how long, and how long without a path")
    func success() {
        var result = Samples.result(.success)
        #expect(FetchText.summary(result, label: "big.iso") == "big.iso: done: 64.0 MiB in 32s, 2.0 MiB/s")
        result.held = [.path: .seconds(5)]
        #expect(
            FetchText.summary(result, label: "big.iso")
                == "big.iso: done: 64.0 MiB in 32s, 5s of it without a path, 2.0 MiB/s")
    }

    @Test("A failure says whose it was")
    func failure() {
        let refused = Attribution(
            party: .theirs, rung: .tcp, isCertain: true, evidence: ["their host refused the connection"])
        var result = Samples.result(.failure, .retriesExhausted, attempts: 4, party: refused)
        #expect(
            FetchText.summary(result, label: "big.iso")
                == "big.iso: failed after 4 attempts: their host refused the connection (the server): "
                + "every retry was used"
        )
        result.explanation = "\(result.url): could not connect, after 4 attempts"
        #expect(
            FetchText.failure(result)
                == "failed after 4 attempts: their host refused the connection (the server): could not connect")
        result.explanation = "their host refused the connection"
        #expect(
            FetchText.failure(result)
                == "failed after 4 attempts: their host refused the connection (the server)")
    }

    @Test("What failed on this host alone names no rung, and a gate that gave up is no failed attempt")
    func localFailures() {
        let summary = AttemptSummary(number: 1, method: "GET", duration: .seconds(1))
        let mine = Attribution(party: .mine, isCertain: true, evidence: ["the failure is on this host"])
        #expect(
            self.line(.attemptFailed(summary, .diskFull, mine, isCharged: false))
                == "big.iso: attempt 1 failed: the disk is full")
        var full = Samples.result(.failure, .diskFull, party: mine)
        full.explanation = "/x/.big.iso.tidegate: write: No space left on device"
        #expect(
            FetchText.failure(full)
                == "failed: /x/.big.iso.tidegate: write: No space left on device (this host)")
        var gaveUp = Samples.result(
            .failure, .gateTimeout, party: Attribution(party: .mine, rung: .carrier, isCertain: true))
        gaveUp.explanation = "no path: eth0 has no carrier"
        #expect(FetchText.failure(gaveUp) == "gave up: eth0 has no carrier")
        #expect(FetchText.gaveUp(gaveUp) == "gave up waiting for a path: carrier: eth0 has no carrier")
    }

    @Test("The ending is the worst of all transfers: failed beats gave up")
    func endings() {
        let done = Samples.result(.success)
        let failed = Samples.result(.failure, .httpStatus)
        var gaveUp = Samples.result(
            .failure, .gateTimeout,
            party: Attribution(party: .mine, rung: .carrier, isCertain: true, evidence: ["eth0 has no carrier"]))
        gaveUp.requireUnmet = .routed
        #expect(FetchRun.error(for: [done, done]) == nil)
        #expect(FetchRun.error(for: [failed]) == CommandError(.no))
        #expect(FetchRun.error(for: [done, failed]) == CommandError(.no, "1 of 2 transfers failed"))
        #expect(FetchRun.error(for: [gaveUp, failed]) == CommandError(.no, "2 of 2 transfers failed"))
        #expect(
            FetchRun.error(for: [done, gaveUp])
                == CommandError(.gaveUp, "gave up waiting for a path: carrier: eth0 has no carrier"))
    }
}
