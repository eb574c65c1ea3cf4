import Foundation
import Glibc
import Logging
import Synchronization
import Testing
import Tidegate
@testable import TidegateCore
import TidegateTestKit

@testable import TidegateDaemon

@Suite struct LogTests {
    private let lines = LineBox()

    private func logger(_ format: LogFormat, level: LogLevel = .info) -> Logger {
        let lines = self.lines
        return Logger(label: "test") { _ in
            LineLogHandler(logLevel: level.level, format: format, time: ManualTime(), write: { lines.add($0) })
        }
    }

    @Test("A logfmt line quotes what its readers would split")
    func logfmt() {
        self.logger(.logfmt).warning(
            "path changed", metadata: ["to": "none", "why": "eth0 has \"no\" carrier", "empty": "", "eq": "a=b"])
        #expect(
            self.lines.all == [
                "time=2026-09-21T14:13:20.000Z level=warning msg=\"path changed\" empty=\"\" eq=\"a=b\" to=none "
                    + "why=\"eth0 has \\\"no\\\" carrier\"\n"
            ])
    }

    @Test("A JSON line is one object")
    func json() {
        self.logger(.json).info("started\n", metadata: ["task": "1"])
        #expect(
            self.lines.all == [
                "{\"time\":\"2026-09-21T14:13:20.000Z\",\"level\":\"info\",\"msg\":\"started\\n\",\"task\":\"1\"}\n"
            ])
    }

    @Test("What would control a terminal is escaped in both formats", arguments: LogFormat.allCases)
    func controls(_ format: LogFormat) throws {
        let name = "eth\u{1B}[31m\u{9B}2J\u{202E}\u{2066}\u{85}"
        self.logger(format).info("link \(name)", metadata: ["interface": "\(name)"])
        let line = try #require(self.lines.all.first)
        let controls = line.dropLast().unicodeScalars.filter { $0.controlsTerminal }
        #expect(controls.isEmpty, "\(line.debugDescription)")
        #expect(line.contains("\\u009b") && line.contains("\\u202e"), "\(line)")
    }

    @Test("A log without a reader blocks no writer: lines are dropped, and counted once")
    func unreadLog() async throws {
        var ends: [Int32] = [0, 0]
        try #require(pipe(&ends) == 0)
        // Programs that other tests start would keep it open.
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        let output = LogOutput(descriptor: ends[1], time: SystemClock()) { "dropped \($0)\n" }
        try output.start()
        let line = String(repeating: "x", count: 1023) + "\n"
        // The pipe takes 64 KiB and the queue 1 MiB.
        for _ in 0..<3000 { output.put(line) }
        let reader = PipeReader(ends[0])
        output.finish(within: .seconds(60))
        close(ends[1])
        let lines = try #require(await eventualValue { reader.text }).split(separator: "\n")
        close(ends[0])
        let notices = lines.filter { $0.hasPrefix("dropped ") }
        // One a second, and one at the end.
        let dropped = notices.compactMap { Int($0.dropFirst("dropped ".count)) }.reduce(0, +)
        #expect(dropped > 0 && lines.count - notices.count + dropped == 3000, "\(lines.count) \(notices)")
    }

    @Test("Numbers, flags and durations are numbers and flags in JSON, and text in logfmt")
    func numbers() throws {
        let event = Event(
            sequence: 1, time: ManualTime().wall(), moment: ManualTime().monotonic(),
            payload: .netlink(.resynced(.startup, duration: .milliseconds(1500))))
        let record = try #require(EventRecord(event))
        self.logger(.json, level: .debug).debug(
            "x", metadata: record.fields.merging(["on": .stringConvertible(true), "n": .stringConvertible(3)]) { $1 })
        self.logger(.logfmt, level: .debug).debug("x", metadata: record.fields)
        #expect(
            self.lines.all.first?.hasSuffix("\"duration\":1.5,\"n\":3,\"on\":true,\"reason\":\"startup\"}\n") ?? false)
        #expect(self.lines.all.last?.hasSuffix(" duration=1.5s reason=startup\n") ?? false, "\(self.lines.all)")
    }

    @Test("Less important lines than asked for are not written")
    func levels() {
        self.logger(.logfmt, level: .warn).info("nothing")
        #expect(self.lines.all.isEmpty)
    }

    @Test("Events become lines at the level that operators expect", arguments: Self.events)
    func eventLines(_ payload: Event.Payload, _ line: String?) {
        let event = Event(
            sequence: 1, time: ManualTime().wall(), moment: ManualTime().monotonic(), payload: payload)
        let logged = EventRecord(event).map { record in
            let fields = record.fields.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
            return (["\(record.level) \(record.message)"] + fields).joined(separator: "|")
        }
        #expect(logged == line)
    }

    private static let id = TaskID("019a0000-0000-7000-8000-000000000001")

    static let events: [(Event.Payload, String?)] = [
        (
            .path(
                PathEvent(
                    scope: .global, from: Verdict(level: .none, reason: .noCarrier),
                    to: Verdict(level: .routed, path: NetworkPath(interface: "eth0", index: 2)), lasted: .seconds(5))),
            "info path changed|from=none|interface=eth0|lasted=5s|scope=global|to=routed"
        ),
        (
            .link(
                LinkEvent(
                    from: nil,
                    to: Link(
                        name: "eth0", index: 2, kind: .ethernet, isAdminUp: true, hasCarrier: false, operState: .down,
                        reason: .noCarrier))),
            "info link added|admin=up|carrier=false|interface=eth0|operstate=down|reason=eth0 has no carrier"
        ),
        (.netlink(.received(.newlink, count: 3)), nil),
        (.netlink(.overrun), "warning netlink overrun, resynchronizing"),
        (.daemon(.runSkipped(task: "sync")), "info scheduled run skipped: the previous run is still active|name=sync"),
        (.daemon(.configurationLoaded(isGood: false)), "error configuration reload failed"),
        (
            task(.held(.path, detail: "eth0 has no carrier")),
            "info task held|detail=eth0 has no carrier|kind=download|reason=no path|task=\(Self.name)"
        ),
        (task(.held(.concurrency, detail: nil)), "debug task held|kind=download|reason=queued|task=\(Self.name)"),
        (
            task(.released(.path, after: .milliseconds(3100))),
            "info task released|after=3.1s|kind=download|reason=no path|task=\(Self.name)"
        ),
        (
            task(
                .attemptFailed(
                    AttemptSummary(number: 1, method: "GET", duration: .seconds(1)), .connectFailed,
                    Attribution(party: .theirs, evidence: ["refused"]), isCharged: true)),
            "info attempt failed|attempt=1|error_type=connect_failed|evidence=refused|kind=download|party=the server|"
                + "task=\(Self.name)"
        ),
        (
            task(
                .attemptFailed(
                    AttemptSummary(number: 1, method: "GET", duration: .seconds(1)), .rangeMismatch,
                    Attribution(party: .theirs, rung: .http), isCharged: false)),
            "info attempt failed|attempt=1|error_type=range_mismatch|kind=download|party=the server|task=\(Self.name)"
        ),
        (
            task(
                .attemptFailed(
                    AttemptSummary(number: 1, method: "GET", duration: .seconds(1)), .stalled,
                    Attribution(party: .mine, rung: .carrier), isCharged: false)),
            "info attempt interrupted by path loss|attempt=1|error_type=stalled|kind=download|party=this host|task=\(Self.name)"
        ),
        (task(.suspended(.user)), "info task suspended|by=user|kind=download|task=\(Self.name)"),
        (task(.suspended(.shutdown)), "debug task suspended|by=shutdown|kind=download|task=\(Self.name)"),
        (
            task(.retryScheduled(.status(503), delay: .seconds(4))),
            "info retry scheduled|in=4s|kind=download|reason=http_5xx|task=\(Self.name)"
        ),
    ]

    private static var name: String { self.id?.description ?? "" }

    private static func task(_ change: TaskEvent.Kind) -> Event.Payload {
        var generator = SystemRandomNumberGenerator()
        let id = self.id ?? TaskID(at: ManualTime().wall(), using: &generator)
        return .task(TaskEvent(id: id, taskKind: .download, kind: change))
    }

    @Test("A flood of progress events does not displace others from the log's buffer")
    func progress() async throws {
        let bus = EventBus(time: ManualTime())
        let service = LogService(bus: bus, logger: self.logger(.logfmt, level: .debug))
        bus.publish(Self.task(.suspended(.user)))
        // Several times the size of the buffer, before anything is read from it.
        for _ in 0..<5000 { bus.publish(Self.task(.progress(TransferProgress(), delta: .init()))) }
        bus.publish(Self.task(.resumed))
        let run = Task { try await service.run() }
        let isLogged = await eventually { self.lines.all.contains { $0.contains("msg=\"task resumed\"") } }
        run.cancel()
        _ = await run.result
        #expect(isLogged)
        #expect(self.lines.all.count == 2, "\(self.lines.all)")
        #expect(self.lines.all.first?.contains("msg=\"task suspended\"") == true)
    }

    @Test("A completion carries what an operator asks next, and no secret of the URL")
    func completion() throws {
        let id = try #require(Self.id)
        let result = TaskResult(
            id: id, name: "sync", kind: .download, method: "GET", url: "https://u:p@a.example/x?key=1",
            outcome: .failure, attempts: 4, held: [.path: .seconds(3)], duration: .seconds(9),
            failure: .retriesExhausted)
        let event = Event(
            sequence: 1, time: ManualTime().wall(), moment: ManualTime().monotonic(),
            payload: .task(TaskEvent(id: id, taskKind: .download, kind: .completed(result))))
        let record = try #require(EventRecord(event))
        #expect(record.level == .warning)
        let fields = record.fields.mapValues { "\($0)" }
        #expect(fields["url"] == "https://a.example/x" && fields["held_path"] == "3s")
        #expect(fields["error_type"] == "retries_exhausted" && fields["name"] == "sync")
    }
}

/// Reads a pipe to its end on a thread of its own: a Swift task might wait for the very thread that the test blocks.
private final class PipeReader: Sendable {
    private let result = Mutex<String?>(nil)

    init(_ descriptor: Int32) {
        Thread.detachNewThread { [self] in
            var text: [UInt8] = []
            var buffer = [UInt8](repeating: 0, count: 65_536)
            while true {
                let count = read(descriptor, &buffer, buffer.count)
                if count < 0, errno == EINTR { continue }
                guard count > 0 else { break }
                text += buffer[..<count]
            }
            self.result.withLock { $0 = String(decoding: text, as: UTF8.self) }
        }
    }

    /// What it has read; nil before the end.
    var text: String? { self.result.withLock { $0 } }
}

/// Collects lines.
final class LineBox: Sendable {
    private let lines = Mutex<[String]>([])

    func add(_ line: String) { self.lines.withLock { $0.append(line) } }

    var all: [String] { self.lines.withLock { $0 } }
}
