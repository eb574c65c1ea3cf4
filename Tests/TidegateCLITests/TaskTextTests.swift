import Testing
import TidegateCore

@testable import TidegateCLI

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

    @Test("A list says why a task failed, and what the others wait for")
    func states() throws {
        let failed = try self.task { ($0.outcome, $0.reason) = ("failure", "timedOut") }
        #expect(TaskText.list([failed], self.plain) == ["ID  failure(timedOut)    GET http://a/x"])
        let cancelled = try self.task { ($0.outcome, $0.reason) = ("cancelled", "cancelled") }
        #expect(TaskText.state(cancelled) == "cancelled")
        #expect(try TaskText.state(self.task { ($0.state, $0.waitsFor) = ("waiting", "path") }) == "waiting(path)")
    }

    @Test("What counted as an attempt is shown, not every hop on the way")
    func attempts() throws {
        let ended = try self.task { ($0.outcome, $0.attempts) = ("success", 1) }
        #expect(TaskText.details(ended, self.plain).contains("attempts  1"))
    }

    @Test("Names, keys and explanations cannot steer the reader's terminal")
    func controls() throws {
        let hostile = try self.task { task in
            (task.name, task.key) = ("\u{1b}[2Jx", "a\nb")
            task.explanation = "right\u{202e}left\u{9b}31m"
        }
        let lines = TaskText.details(hostile, self.plain)
        #expect(lines.contains("name         \\u{1b}[2Jx"), "\(lines)")
        #expect(lines.contains("key          a\\u{a}b"), "\(lines)")
        #expect(lines.contains("explanation  right\\u{202e}left\\u{9b}31m"), "\(lines)")
        #expect("déjà vu 🗝 ключ".escapingControls == "déjà vu 🗝 ключ")
    }

    @Test("tasks watch prints a line per event, and of progress each tenth once")
    func watch() {
        var text = WatchText()
        let id = "018bcfe5-6800-7000-8000-000000000001"
        func line(_ event: String, _ members: String = "") -> [String] {
            let start = "{\"schema\":1,\"event\":\"task.\(event)\",\"time\":\"T\",\"task\":\"\(id)\",\"kind\":\"data\""
            return text.lines("\(start)\(members)}", self.plain).map { $0.replacing(id, with: "ID") }
        }
        func progress(_ bytes: Int) -> [String] {
            line("progress", ",\"attempt\":1,\"bytes\":\(bytes),\"expectedBytes\":2048,\"sentBytes\":0")
        }
        #expect(line("created", ",\"method\":\"GET\",\"url\":\"http://a/\"") == ["T  ID  accepted: GET http://a/"])
        #expect(line("held", ",\"reason\":\"path\",\"detail\":\"no path\"") == ["T  ID  waiting: no path"])
        #expect(line("held", ",\"reason\":\"backoff\"").isEmpty)
        #expect(line("gate", ",\"result\":\"immediate\",\"waitedSeconds\":0").isEmpty)
        #expect(progress(840) == ["T  ID  41 % of 2.0 KiB"])
        #expect(progress(900).isEmpty)
        #expect(progress(1024) == ["T  ID  50 % of 2.0 KiB"])
        #expect(line("retryScheduled", ",\"reason\":\"http_5xx\",\"delaySeconds\":4") == ["T  ID  retry in 4s"])
        let end = ",\"method\":\"GET\",\"url\":\"http://a/\",\"bytes\":2048,\"durationSeconds\":1.5,\"outcome\":"
        #expect(
            line(
                "completed",
                end + "\"failure\",\"reason\":\"httpStatus\",\"party\":\"theirs\",\"explanation\":\"status 500\"")
                == ["T  ID  failed: status 500 (the server)"])
        #expect(line("completed", end + "\"success\",\"file\":\"/x\"") == ["T  ID  done: 2.0 KiB in 1.5s"])
        #expect(
            text.lines("{\"schema\":1,\"event\":\"dropped\",\"count\":7}", self.plain)
                == ["7 events were lost; run tasks list for the current state"])
        #expect(text.lines("{\"schema\":1,\"event\":\"snapshot\",\"tasks\":[]}", self.plain) == ["no tasks"])
    }
}
