import Testing
import Tidegate
import TidegateCore

@testable import TidegateCLI

@Suite struct ProgressTests {
    private func line(
        _ state: TaskState, _ progress: TransferProgress, rate: Double? = nil, retryIn: Duration? = nil,
        width: Int = 80, name: String = "big.iso"
    ) -> String {
        ProgressLine(name: name, info: Samples.info(state, progress), rate: rate, retryIn: retryIn)
            .text(TextStyle(isColored: false, width: width))
    }

    private let half = TransferProgress(receivedWire: 32 << 20, expected: 64 << 20, attempt: 1)

    @Test("Moving bytes show a bar, the rate and the time left")
    func moving() {
        let line = self.line(.running(attempt: 1), self.half, rate: 2_097_152)
        #expect(line == "big.iso                      50%  [=========>           ]     2.0 MiB/s  ETA 16s")
        #expect(line.count <= 80)
    }

    @Test("A body of unknown length shows what has come")
    func unknownLength() {
        let progress = TransferProgress(receivedWire: 1536, attempt: 1)
        #expect(self.line(.running(attempt: 1), progress).hasSuffix("1.5 KiB"))
        #expect(self.line(.running(attempt: 1), progress, rate: 512).hasSuffix("1.5 KiB       512 B/s"))
    }

    @Test("Something turns where no end is known, while the transfer runs and is shown to be at work")
    func spinner() {
        func line(_ state: TaskState, _ progress: TransferProgress, at milliseconds: UInt64?) -> String {
            var line = ProgressLine(name: "big.iso", info: Samples.info(state, progress))
            line.spinner = milliseconds.map { Spinner(at: MonotonicTime(nanoseconds: $0 * 1_000_000)) }
            return line.text(TextStyle(isColored: false, width: 80))
        }
        let running = TaskState.running(attempt: 1)
        let unknown = TransferProgress(receivedWire: 1536, attempt: 1)
        let lines = [0, 100, 200, 399, 400].map { line(running, unknown, at: $0) }
        #expect(lines.map { $0.dropFirst(31).first } == ["|", "/", "-", "\\", "|"])
        #expect(lines.allSatisfy { $0.hasSuffix("  1.5 KiB") })
        #expect(!line(running, unknown, at: nil).contains("|"))
        #expect(line(running, self.half, at: 0) == line(running, self.half, at: nil), "a bar says more")
        let waiting = TaskState.waiting(.path, detail: "no path")
        #expect(line(waiting, unknown, at: 0) == line(waiting, unknown, at: nil))
    }

    @Test("A length that no server has shows no time left", arguments: [.max, 1 << 50] as [Int64])
    func absurdLength(_ expected: Int64) {
        let progress = TransferProgress(receivedWire: 1 << 20, expected: expected, attempt: 1)
        let line = self.line(.running(attempt: 1), progress, rate: 1_048_576)
        #expect(line.hasSuffix("1.0 MiB     1.0 MiB/s"))
        #expect(self.line(.running(attempt: 1), progress, rate: 1e300).contains("/s"))
    }

    @Test("While a request's body is sent, the line shows how much of it is; afterwards the response")
    func sending() {
        let running = TaskState.running(attempt: 1)
        var progress = TransferProgress(sent: 32 << 20, expectedSent: 64 << 20, attempt: 1)
        #expect(
            self.line(running, progress, rate: 2_097_152)
                == "big.iso                      50%  [======>       ]  sending   2.0 MiB/s  ETA 16s")
        #expect(self.line(running, progress).hasSuffix("32.0 MiB sent"))
        progress.expectedSent = nil
        #expect(self.line(running, progress, rate: 1024).hasSuffix("32.0 MiB sent     1.0 KiB/s"))
        progress.expectedSent = progress.sent
        #expect(self.line(running, progress, rate: 1024).hasSuffix("  32.0 MiB sent, waiting for the response"))
        progress.expected = 0
        #expect(self.line(running, progress).contains("100%"))
        (progress.expected, progress.receivedWire) = (2048, 512)
        #expect(self.line(running, progress).contains(" 25%") && self.line(running, progress).hasSuffix("512 B"))
        let connecting = TransferProgress(expectedSent: 64 << 20, attempt: 1)
        #expect(self.line(running, connecting).hasSuffix("  0%  connecting"))
    }

    @Test("The rate of the response begins anew after the request's body")
    func rateOfEachBody() {
        var display = TransferDisplay(label: "x")
        func bar(_ milliseconds: UInt64, _ progress: TransferProgress) -> ProgressLine {
            display.bar(
                Samples.info(.running(attempt: 1), progress),
                at: MonotonicTime(nanoseconds: milliseconds * 1_000_000))
        }
        _ = bar(0, TransferProgress(sent: 0, expectedSent: 4000, attempt: 1))
        #expect(bar(1000, TransferProgress(sent: 3000, expectedSent: 4000, attempt: 1)).rate == 3000)
        let response = TransferProgress(receivedWire: 9000, expected: 18_000, sent: 4000, expectedSent: 4000)
        #expect(bar(2000, response).rate == nil)
    }

    @Test("A waiting transfer says what it waits for")
    func waiting() {
        func tail(_ state: TaskState, _ progress: TransferProgress, retryIn: Duration? = nil) -> String {
            String(self.line(state, progress, retryIn: retryIn).dropFirst(34))
        }
        #expect(
            tail(.waiting(.path, detail: "no path: eth0 has no carrier"), self.half)
                == "no path: eth0 has no carrier")
        #expect(tail(.waiting(.path, detail: nil), self.half) == "no path")
        #expect(tail(.waiting(.backoff, detail: nil), self.half, retryIn: .milliseconds(3200)) == "retry in 4 s")
        #expect(tail(.waiting(.concurrency, detail: nil), self.half) == "queued")
        let resuming = TransferProgress(offset: 37, expected: 100, attempt: 2)
        #expect(tail(.running(attempt: 2), resuming) == "resuming at 37 %")
        #expect(tail(.running(attempt: 1), TransferProgress(attempt: 1)) == "connecting")
    }

    @Test("No line is wider than the terminal", arguments: [20, 40, 60, 80, 120, 200])
    func width(_ width: Int) {
        let states: [TaskState] = [
            .running(attempt: 1), .waiting(.path, detail: String(repeating: "no path ", count: 40)), .suspended,
            .completed(.failure),
        ]
        for state in states {
            for rate in [nil, 3e9] {
                let line = self.line(
                    state, self.half, rate: rate, width: width, name: String(repeating: "long", count: 20))
                #expect(line.count <= width, "\(line)")
            }
        }
    }

    @Test("A long name keeps its end")
    func longName() {
        let name = "a-very-long-distribution-name-amd64-netinst.iso"
        #expect(self.line(.suspended, self.half, name: name).hasPrefix("…on-name-amd64-netinst.iso"))
    }

    @Test("The rate is that of the last seconds")
    func rate() throws {
        var meter = RateMeter(window: .seconds(2))
        func moment(_ seconds: Double) -> MonotonicTime { MonotonicTime(nanoseconds: UInt64(seconds * 1e9)) }
        #expect(meter.rate == nil)
        meter.add(0, at: moment(0))
        meter.add(10, at: moment(0.1))
        #expect(meter.rate == nil)
        meter.add(100, at: moment(1))
        #expect(meter.rate == 100)
        for second in 2...10 { meter.add(Int64(100 + 50 * (second - 1)), at: moment(Double(second))) }
        #expect(meter.rate == 50)
        // Another attempt began from nothing.
        meter.add(5, at: moment(11))
        #expect(meter.rate == nil)
    }

    @Test("Painting again goes up as many lines as stood there")
    func painter() {
        var renderer = TerminalRenderer()
        #expect(renderer.render(["a", "b"]) == "a\u{1B}[K\nb\u{1B}[K\n\u{1B}[J")
        #expect(renderer.render(["c"], above: ["done"]) == "\u{1B}[2A\rdone\u{1B}[K\nc\u{1B}[K\n\u{1B}[J")
        #expect(renderer.render([]) == "\u{1B}[1A\r\u{1B}[J")
    }
}
