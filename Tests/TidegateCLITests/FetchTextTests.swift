import Testing
import TidegateAttribution
import Tidegate
import TidegateCore
import TidegateTestKit

@testable import TidegateCLI

@Suite struct FetchTextTests {
    private func line(_ change: TaskEvent.Kind, waited: Duration? = nil) -> String? {
        FetchText.clause(change, waited: waited).map { "big.iso: \($0)" }
    }

    private static let now = MonotonicTime(nanoseconds: 0)

    /// Whose a failure is by the rules of the session.
    private func attribution(
        _ failure: TaskFailure, socketError: SocketError? = nil, after: Verdict = Samples.routed
    ) -> Attribution? {
        var evidence = FailureEvidence(
            failure: failure, stage: .connect, peer: IPAddress("192.0.2.1"), before: Samples.routed, after: after)
        evidence.socketError = socketError
        return DecisionTable.attribution(of: evidence)
    }

    /// A transfer that the session makes: what it reports, and its result.
    private func transfer(
        _ url: String, _ change: (inout TaskRequest) throws -> Void = { _ in }
    ) async throws -> (lines: [String], result: TaskResult) {
        let monitor = try Monitor()
        let events = monitor.bus.subscribe(.watch, bufferingNewest: 4096) { event in
            if case .task = event.payload { true } else { false }
        }
        var request = try TaskRequest(url: url)
        request.options.retry = RetryPolicy(attempts: 2, base: .milliseconds(1), cap: .milliseconds(1))
        try change(&request)
        let task = monitor.session.makeTask(request)
        task.resume()
        let result = await task.result()
        var lines: [String] = []
        var display = TransferDisplay(label: "big.iso")
        for await event in events {
            guard case .task(let event) = event.payload else { continue }
            if case .completed = event.kind { break }
            // The delay is random.
            let line = display.line(for: event.kind, at: Self.now)?.split(separator: "; retry in").first
            if let line { lines.append(String(line)) }
        }
        await monitor.stop()
        return (lines, result)
    }

    /// An attempt of 2.1 s and 1 MiB whose parts took these milliseconds.
    private func attempt(_ parts: [WritableKeyPath<PhaseDurations, Duration?>: Int]) -> AttemptSummary {
        var phases = PhaseDurations()
        for (part, time) in parts { phases[keyPath: part] = .milliseconds(time) }
        return AttemptSummary(
            number: 1, method: "GET", duration: .milliseconds(2100), phases: phases, receivedWire: 1_048_576,
            sent: 524_288)
    }

    @Test("The part that took half of a slow attempt is named, the server without the way to it")
    func largestShare() {
        let share = { FetchText.largestShare(of: self.attempt($0)) }
        #expect(share([\.resolve: 1500, \.connect: 30]) == "1.5 s of 2.1 s went into finding the address")
        #expect(
            share([\.connect: 30, \.processing: 1930, \.transfer: 100])
                == "1.9 s of 2.1 s went into waiting for the server; connecting took 30 ms")
        #expect(
            share([\.connect: 30, \.processing: 60, \.transfer: 2000])
                == "2 s of 2.1 s went into receiving 1.0 MiB at 512.0 KiB/s")
        #expect(
            share([\.connect: 30, \.processing: 2030, \.sending: 2000])
                == "2 s of 2.1 s went into sending 512.0 KiB at 256.0 KiB/s")
        #expect(share([\.connect: 1000, \.processing: 1010]) == nil, "the way took it, each time")
        let quick = AttemptSummary(number: 1, method: "GET", duration: .milliseconds(200))
        #expect(FetchText.largestShare(of: quick) == nil)
    }

    @Test("Each event that matters is a line, others are none")
    func lines() {
        let summary = AttemptSummary(number: 2, method: "GET", duration: .seconds(1))
        let refused = self.attribution(.connectFailed, socketError: .refused)
        let lost = self.attribution(.stalled, after: Verdict(level: .local, reason: .noCarrier, path: nil))
        let wrong = self.attribution(.rangeMismatch)
        #expect(self.line(.attemptStarted(number: 1)) == "big.iso: started")
        #expect(self.line(.attemptStarted(number: 2)) == nil)
        #expect(
            self.line(.held(.path, detail: "no path: eth0 has no carrier"))
                == "big.iso: waiting: no path: eth0 has no carrier")
        #expect(self.line(.held(.concurrency, detail: nil)) == nil)
        #expect(self.line(.released(.path, after: .milliseconds(3100))) == nil)
        #expect(
            self.line(.attemptStarted(number: 2), waited: .milliseconds(3100))
                == "big.iso: continuing after 3.1 s")
        #expect(
            self.line(.attemptFailed(summary, .connectFailed, refused, isCharged: true))
                == "big.iso: attempt 2 failed: 192.0.2.1 refused the connection")
        #expect(self.line(.attemptFailed(summary, .stalled, lost, isCharged: false)) == "big.iso: the path was lost")
        // Not charged, because the transfer begins again, and yet no failure of the path.
        #expect(
            self.line(.attemptFailed(summary, .rangeMismatch, wrong, isCharged: false))
                == "big.iso: attempt 2 failed: the answer itself is wrong")
        #expect(self.line(.retryScheduled(.status(503), delay: .seconds(4))) == "big.iso: retry in 4 s")
        let resumed = TransferProgress(offset: 37, receivedWire: 5, expected: 100, attempt: 2)
        #expect(self.line(.progress(resumed, delta: .init())) == "big.iso: resuming at 37 %")
        #expect(self.line(.responseHead(status: 200, expectedBytes: 63)) == nil)
        #expect(self.line(.attemptFailed(summary, .cancelled, nil, isCharged: false)) == nil)
        #expect(self.line(.progress(.init(), delta: .init())) == nil)
    }

    @Test("A summary says how much, how long, and how long without a path")
    func success() {
        #expect(
            FetchText.summary(Samples.result(.success), label: "big.iso")
                == "big.iso: done: 64.0 MiB in 32 s, 2.0 MiB/s")
        let held = Samples.result(.success, held: [.path: .seconds(5)])
        #expect(
            FetchText.summary(held, label: "big.iso")
                == "big.iso: done: 64.0 MiB in 32 s, 5 s of it without a path, 2.0 MiB/s")
    }

    @Test("The speed is that of the transfer: neither the queue nor any other wait is part of it")
    func speed() async throws {
        let result = Samples.result(
            .success, held: [.concurrency: .seconds(16), .path: .seconds(8)], activeTime: .seconds(8))
        #expect(
            FetchText.summary(result, label: "big.iso")
                == "big.iso: done: 64.0 MiB in 16 s, 8 s of it without a path, 8.0 MiB/s")
        // One of two waits until the other has had its second.
        let server = try LiveServer { _ in LiveServerAnswer([.wait(milliseconds: 600)]).then(.send(Self.answer)) }
        defer { server.stop() }
        var configuration = MonitorConfiguration()
        (configuration.session.maxConnectionsPerHost, configuration.session.maxConnections) = (1, 1)
        let monitor = try Monitor(configuration)
        let tasks = try (0..<2).map { _ in monitor.session.makeTask(try TaskRequest(url: server.url("/x"))) }
        for task in tasks { task.resume() }
        let second = await tasks[1].result()
        #expect(second.held[.concurrency] ?? .zero > .milliseconds(400), "\(second.held)")
        let active = try #require(second.activeTime)
        #expect(active + (second.held[.concurrency] ?? .zero) <= second.duration + .milliseconds(1))
        await monitor.stop()
    }

    private static let answer = Array("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok".utf8)

    @Test("A failed attempt is printed with the next step, and the last one only at the end")
    func once() {
        var display = TransferDisplay(label: "big.iso")
        let summary = AttemptSummary(number: 3, method: "GET", duration: .seconds(1), tryNumber: 2)
        let refused = self.attribution(.connectFailed, socketError: .refused)
        let lost = self.attribution(.stalled, after: Verdict(level: .local, reason: .noCarrier, path: nil))
        func line(_ event: TaskEvent.Kind) -> String? { display.line(for: event, at: Self.now) }
        #expect(line(.attemptFailed(summary, .connectFailed, refused, isCharged: true)) == nil)
        #expect(
            line(.retryScheduled(.failure(.connectFailed), delay: .seconds(4)))
                == "big.iso: attempt 2 failed: 192.0.2.1 refused the connection; retry in 4 s")
        #expect(line(.attemptFailed(summary, .stalled, lost, isCharged: false)) == nil)
        #expect(
            line(.held(.path, detail: "no path: eth0 has no carrier"))
                == "big.iso: waiting: no path: eth0 has no carrier")
        #expect(line(.attemptFailed(summary, .connectFailed, refused, isCharged: true)) == nil)
        #expect(line(.attemptStarted(number: 4)) == "big.iso: attempt 2 failed: 192.0.2.1 refused the connection")
        #expect(line(.attemptStarted(number: 5)) == nil)
    }

    @Test("A path that is lost during a transfer is reported immediately, and not again when the transfer gives up")
    func stall() {
        var display = TransferDisplay(label: "big.iso")
        var info = Samples.info(.running(attempt: 1), TransferProgress(receivedWire: 5, attempt: 1))
        #expect(display.line(showing: info) == nil)
        info.stall = "no path: eth0 has no carrier"
        #expect(display.line(showing: info) == "big.iso: waiting: no path: eth0 has no carrier")
        #expect(display.line(showing: info) == nil)
        #expect(display.line(for: .held(.path, detail: "no path: eth0 has no carrier"), at: Self.now) == nil)
        #expect(
            display.line(for: .held(.path, detail: "no path: eth0 is down"), at: Self.now)
                == "big.iso: waiting: no path: eth0 is down")
        info.stall = nil
        #expect(display.line(showing: info) == "big.iso: the path is back")
        info.stall = "no path: eth0 has no carrier"
        #expect(
            ProgressLine(name: "big.iso", info: info).text(TextStyle(isColored: false, width: 80))
                .hasSuffix("no path: eth0 has no carrier"))
    }

    @Test("A failed transfer says whose failure it was, in the words that the session attaches")
    func failure() async throws {
        let server = try LiveServer { _ in .respond(404, text: "") }
        let missing = try await self.transfer(server.url("/x"))
        server.stop()
        #expect(missing.lines == ["big.iso: started"], "the last line says why")
        #expect(
            FetchText.summary(missing.result, label: "big.iso")
                == "big.iso: 404 Not Found: check the URL")
        let refused = try await self.transfer(server.url("/x"))
        #expect(
            refused.lines == ["big.iso: started", "big.iso: attempt 1 failed: 127.0.0.1 refused the connection"])
        #expect(
            FetchText.summary(refused.result, label: "big.iso")
                == "big.iso: failed after 2 attempts: 127.0.0.1 refused the connection (this host)")
        #expect(
            FetchText.summary(Samples.result(.failure, .deadlineExceeded), label: "big.iso")
                == "big.iso: failed: the deadline passed")
    }

    @Test("What failed on this host alone names no rung, and a gate that gave up is no failed attempt")
    func localFailures() async throws {
        let server = try LiveServer { .pattern(1000, for: $0) }
        defer { server.stop() }
        let nowhere = try await self.transfer(server.url("/x")) { $0.destination = .file("/nowhere/big.iso") }
        #expect(nowhere.lines.isEmpty)
        #expect(FetchText.failure(nowhere.result) == "failed: the directory /nowhere does not exist (this host)")
        let gaveUp = try await self.transfer(server.url("/x")) { request in
            request.options.gate = GatePolicy(require: [.interface("nosuch0")], patience: .milliseconds(100))
        }
        #expect(gaveUp.lines == ["big.iso: waiting: the path leaves by lo, not by nosuch0"])
        #expect(
            FetchText.failure(gaveUp.result)
                == "gave up waiting for a path: the path leaves by lo, not by nosuch0 (interface:nosuch0 was required)")
    }

    @Test("The ending is the worst of all transfers: failed beats gave up; each failure was told before")
    func endings() {
        let done = Samples.result(.success)
        let failed = Samples.result(.failure, .httpStatus)
        let gaveUp = Samples.result(.failure, .gateTimeout)
        func error(_ results: TaskResult..., change: (inout FetchTally) -> Void = { _ in }) -> CommandError? {
            var tally = FetchTally()
            for result in results { tally.add(result) }
            change(&tally)
            return tally.error
        }
        #expect(error(done, done) == nil)
        #expect(error(failed) == CommandError(.no))
        #expect(error(done, failed) == CommandError(.no, "1 of 2 transfers failed"))
        #expect(error(gaveUp, failed) == CommandError(.no, "2 of 2 transfers failed"))
        #expect(error(gaveUp) == CommandError(.gaveUp))
        #expect(error(done, gaveUp) == CommandError(.gaveUp, "1 of 2 transfers gave up waiting for a path"))
        #expect(error(done, done) { $0.addRefused() } == CommandError(.no, "1 of 3 transfers failed"))
        #expect(error(done) { $0.cutShort() } == CommandError(.no))
    }
}
