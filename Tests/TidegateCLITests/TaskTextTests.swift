import Testing
@testable import TidegateCore

@testable import TidegateCLI

// Testing has a type of the same name.
private typealias Status = TidegateCLI.ExitStatus

/// The daemon's tasks as people read them.
@Suite struct TaskTextTests {
    private let plain = TextStyle(isColored: false, width: 200)

    private func task(_ change: (inout TaskDocument) -> Void) throws -> TaskDocument {
        let id = try #require(TaskID("018bcfe5-6800-7000-8000-000000000001"))
        var task = TaskDocument(
            TaskInfo(
                id: id, kind: .data, method: "GET", url: "http://a/x", state: .completed(.success),
                progress: TransferProgress(attempt: 11), created: WallTime(microseconds: 0)))
        (task.id, task.outcome) = ("ID", nil)
        change(&task)
        return task
    }

    private let now = WallTime(microseconds: 1_700_000_000_000_000)

    @Test("A list has a header, and a row with key or name, age, state, next run, whose and why for each task")
    func list() throws {
        let failed = try self.task { task in
            (task.id, task.key, task.created) = ("0199a3c2-aaaa-7000", "iso", "2023-11-14T20:13:20.000Z")
            (task.outcome, task.reason, task.party) = ("failure", "connectFailed", "gateway")
        }
        let backup = try self.task { task in
            (task.id, task.name, task.created) = ("0199a3c2-aabb-7000", "backup", "2023-11-14T22:12:50.000Z")
            (task.state, task.waitsFor, task.detail) = ("waiting", "backoff", "could not connect")
            (task.party, task.nextRun) = ("theirs", "2023-11-14T22:15:25.500Z")
        }
        let running = try self.task { task in
            (task.id, task.created) = ("0199b000-aabb-7000", "2023-11-12T22:13:20.000Z")
            (task.state, task.fraction) = ("running", 0.431)
        }
        #expect(
            TaskText.list([failed, backup, running], self.plain, at: self.now) == [
                "ID            KEY OR NAME  AGE   STATE         NEXT RUN      WHOSE        REASON",
                "0199a3c2-aaa  iso          2 h   failed        -             your router  could not connect",
                "0199a3c2-aab  backup       30 s  waiting       in 2 min 5 s  the server   could not connect",
                "0199b000      http://a/x   2 d   running 43 %  -             -            -",
            ])
        let runs = try (1...3).map { number in
            try self.task { task in
                (task.id, task.name, task.outcome) = (
                    "0199b00\(number)-aabb-7000", "sync", number == 2 ? "failure" : "success"
                )
                task.created = "2023-11-14T22:13:1\(number).000Z"
            }
        }
        let rows = TaskText.list(runs + [running], self.plain, at: self.now).dropFirst().map { $0.prefix(34) }
        #expect(
            rows == [
                "0199b002  sync         8 s  failed", "0199b003  sync (2)     7 s  done  ",
                "0199b000  http://a/x   2 d  runnin",
            ])
        let whole = TaskText.list(runs, self.plain, at: self.now, isVerbose: true).dropFirst().map { $0.prefix(24) }
        #expect(whole == (1...3).map { "0199b00\($0)-aabb-7000  sync" })
        #expect(TaskText.list([], self.plain, at: self.now) == ["no tasks"])
    }

    @Test("States, reasons and parties are words, whatever the daemon's names for them")
    func plainEnglish() throws {
        for reason in TaskFailure.allCases {
            let task = try self.task { ($0.outcome, $0.reason) = ("failure", reason.rawValue) }
            #expect(TaskText.state(task) == "failed")
            #expect(TaskText.reason(task) == reason.description)
        }
        for reason in HoldReason.allCases {
            let task = try self.task { ($0.state, $0.waitsFor) = ("waiting", reason.rawValue) }
            #expect(TaskText.state(task) == "waiting" && TaskText.reason(task) == reason.description)
        }
        for party in FaultParty.allCases {
            #expect(try TaskText.party(self.task { $0.party = party.rawValue }) == party.description)
        }
        let status = try self.task { ($0.outcome, $0.reason, $0.status) = ("failure", "httpStatus", 503) }
        #expect(TaskText.reason(status) == "server returned an error status (503)")
        let exhausted = try self.task { task in
            (task.outcome, task.reason, task.explanation) = ("failure", "retriesExhausted", "refused, after 4 attempts")
            (task.party, task.ended) = ("theirs", "2023-11-14T22:10:20.000Z")
        }
        #expect(TaskText.reason(exhausted) == "refused, after 4 attempts")
        #expect(
            TaskText.summary(exhausted, at: self.now) == "failed 3 min ago: refused, after 4 attempts (the server)")
        let replaced = try self.task { ($0.outcome, $0.explanation) = ("cancelled", "replaced by the task 2") }
        #expect(TaskText.state(replaced) == "cancelled" && TaskText.reason(replaced) == "replaced by the task 2")
        #expect(try TaskText.state(self.task { $0.outcome = "success" }) == "done")
    }

    @Test("The exit status of tasks wait tells success, failure, giving up and not knowing apart")
    func exits() throws {
        func status(_ outcome: String, _ reason: String? = nil) throws -> Int32? {
            try Status(endOf: self.task { ($0.outcome, $0.reason) = (outcome, reason) })?.number
        }
        #expect(try status("success") == nil && status("cancelled", "cancelled") == 1)
        #expect(try status("failure", "httpStatus") == 1 && status("failure", "gateTimeout") == 75)
        #expect(try status("failure", "outcomeUnknown") == 3)
        let statuses: [Status] = [.gaveUp, .unknown, .no, .usage]
        #expect(statuses.map { $0.worse(than: .gaveUp).number } == [75, 3, 1, 2])
        #expect(statuses.map { Status.no.worse(than: $0).number } == [1, 1, 1, 2])
    }

    @Test("What counted as an attempt is shown, not every hop on the way")
    func attempts() throws {
        let ended = try self.task { ($0.outcome, $0.attempts) = ("success", 1) }
        #expect(TaskText.details(ended, self.plain, at: self.now).contains("attempts  1"))
    }

    @Test("A task whose request body is being sent shows how much of it is; then its response")
    func sending() throws {
        var task = try self.task { task in
            (task.state, task.outcome, task.bytes, task.expectedBytes, task.fraction) = ("running", nil, 0, nil, nil)
            (task.sending, task.sentBytes, task.expectedSentBytes, task.sentFraction) = (true, 512, 2048, 0.25)
        }
        #expect(TaskText.state(task) == "running 25 % sent")
        #expect(TaskText.details(task, self.plain, at: self.now).contains("sent      512 B of 2.0 KiB"))
        (task.expectedSentBytes, task.sentFraction) = (nil, nil)
        #expect(TaskText.state(task) == "running 512 B sent")
        #expect(TaskText.details(task, self.plain, at: self.now).contains("sent      512 B"))
        (task.sending, task.bytes, task.expectedBytes, task.fraction) = (false, 10, 20, 0.5)
        #expect(TaskText.state(task) == "running 50 %")
        #expect(TaskText.details(task, self.plain, at: self.now).contains("received  10 B of 20 B"))
    }

    @Test("Names, keys and explanations cannot steer the reader's terminal")
    func controls() throws {
        let hostile = try self.task { task in
            (task.name, task.key) = ("\u{1b}[2Jx", "a\nb")
            task.explanation = "right\u{202e}left\u{9b}31m"
        }
        let lines = TaskText.details(hostile, self.plain, at: self.now)
        #expect(lines.contains("name         \\u{1b}[2Jx"), "\(lines)")
        #expect(lines.contains("key          a\\u{a}b"), "\(lines)")
        #expect(lines.contains("explanation  right\\u{202e}left\\u{9b}31m"), "\(lines)")
        #expect("déjà vu 🗝 ключ".escapingControls == "déjà vu 🗝 ключ")
    }

    private let id = "018bcfe5-6800-7000-8000-000000000001"

    // The lines for an event as the daemon sends it.
    private func lines(_ kind: TaskEvent.Kind, _ text: inout WatchText) throws -> [String] {
        let task = TaskEvent(id: try #require(TaskID(self.id)), taskKind: .data, kind: kind)
        let event = Event(
            sequence: 1, time: WallTime(microseconds: 0), moment: MonotonicTime(nanoseconds: 0), payload: .task(task))
        let start = "1970-01-01T00:00:00.000Z  \(self.id)  "
        return text.lines(event.json().description, self.plain).map { $0.replacing(start, with: "") }
    }

    private func end(
        _ outcome: TaskOutcome, file: String? = nil, status: Int? = nil, failure: TaskFailure? = nil,
        explanation: String? = nil
    ) throws -> TaskEvent.Kind {
        .completed(
            TaskResult(
                id: try #require(TaskID(self.id)), kind: .data, method: "GET", url: "http://a/", outcome: outcome,
                status: status, file: file, bytes: 2048, duration: .milliseconds(1500), failure: failure,
                attribution: failure.map { _ in Attribution(party: .theirs) }, explanation: explanation))
    }

    @Test("tasks watch prints a line per event, and of progress each tenth once")
    func watch() throws {
        var text = WatchText()
        func progress(_ bytes: Int64) throws -> [String] {
            let progress = TransferProgress(receivedWire: bytes, expected: 2048, attempt: 1)
            return try self.lines(.progress(progress, delta: .init()), &text)
        }
        func sent(_ bytes: Int64) throws -> [String] {
            let progress = TransferProgress(sent: bytes, expectedSent: 2048, attempt: 2)
            return try self.lines(.progress(progress, delta: .init()), &text)
        }
        #expect(
            try self.lines(.created(method: "GET", url: "http://a/"), &text) == ["accepted: GET http://a/"])
        #expect(try self.lines(.held(.path, detail: "no path"), &text) == ["waiting: no path"])
        #expect(try self.lines(.held(.backoff, detail: nil), &text).isEmpty)
        #expect(try self.lines(.gate(.immediate, waited: .zero), &text).isEmpty)
        #expect(try progress(840) == ["41 % of 2.0 KiB"])
        #expect(try progress(900).isEmpty)
        #expect(try progress(1024) == ["50 % of 2.0 KiB"])
        #expect(try sent(1024) == ["50 % of 2.0 KiB sent"])
        #expect(try sent(1100).isEmpty)
        #expect(try sent(2048).isEmpty, "sent, and nothing is known of the response")
        #expect(try self.lines(.retryScheduled(.status(503), delay: .seconds(4)), &text) == ["retry in 4 s"])
        let refused = try self.end(.failure, failure: .connectFailed, explanation: "connection refused")
        #expect(try self.lines(refused, &text) == ["failed: connection refused (the server)"])
        let missing = try self.end(.failure, status: 404, failure: .httpStatus)
        #expect(try self.lines(missing, &text) == ["404 Not Found: check the URL"])
        #expect(try self.lines(self.end(.success, file: "/x"), &text) == ["done: 2.0 KiB in 1.5 s"])
        #expect(
            text.lines("{\"schema\":1,\"event\":\"dropped\",\"count\":7}", self.plain)
                == ["7 events were lost; run tasks list for the current state"])
        #expect(text.lines("{\"schema\":1,\"event\":\"snapshot\",\"tasks\":[]}", self.plain) == ["no tasks"])
    }

    @Test("tasks watch -q prints how tasks end, -v every event")
    func watchVerbosity() throws {
        var (quiet, verbose) = (WatchText(isQuiet: true), WatchText(isVerbose: true))
        #expect(quiet.lines("{\"schema\":1,\"event\":\"snapshot\",\"tasks\":[]}", self.plain).isEmpty)
        #expect(try self.lines(.created(method: "GET", url: "http://a/"), &quiet).isEmpty)
        #expect(try self.lines(self.end(.success, file: "/x"), &quiet) == ["done: 2.0 KiB in 1.5 s"])
        let moved = TransferProgress(receivedWire: 10, expected: 2048, attempt: 1)
        for kind in [TaskEvent.Kind.held(.backoff, detail: nil), .progress(moved, delta: .init())] {
            #expect(try self.lines(kind, &verbose) == [kind.sentence])
        }
    }

    @Test("tasks watch counts tries: what follows a redirect is none")
    func redirects() throws {
        var text = WatchText()
        func failed(_ number: Int, try tryNumber: Int) -> TaskEvent.Kind {
            let summary = AttemptSummary(number: number, method: "GET", duration: .zero, tryNumber: tryNumber)
            return .attemptFailed(summary, .connectFailed, nil, isCharged: true)
        }
        let redirect = AttemptSummary(number: 1, method: "GET", status: 302, duration: .zero, tryNumber: 1)
        #expect(try self.lines(.attemptStarted(number: 1), &text) == ["attempt 1 started"])
        #expect(try self.lines(.attemptSucceeded(redirect), &text).isEmpty)
        #expect(try self.lines(.attemptStarted(number: 2), &text).isEmpty)
        #expect(try self.lines(failed(2, try: 1), &text) == ["attempt 1 failed: could not connect"])
        #expect(try self.lines(.attemptStarted(number: 3), &text) == ["attempt 2 started"])
        #expect(try self.lines(failed(3, try: 2), &text) == ["attempt 2 failed: could not connect"])
    }
}
