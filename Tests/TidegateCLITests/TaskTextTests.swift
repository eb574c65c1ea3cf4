import Testing

@testable import TidegateCLI
@testable import TidegateServer

/// The daemon's tasks as people read them.
@Suite struct TaskTextTests {
    private let plain = TextStyle(isColored: false, width: 200)

    private func task(_ change: (inout ListedTask) -> Void) -> ListedTask {
        var task = ListedTask(
            id: "ID", kind: "data", method: "GET", url: "http://a/x", state: "completed", attempt: 11, bytes: 0,
            created: "now")
        change(&task)
        return task
    }

    @Test("A list says why a task failed, and what the others wait for")
    func states() {
        let failed = self.task { ($0.outcome, $0.reason) = ("failure", "timedOut") }
        #expect(TaskText.list([failed], self.plain) == ["ID  failure(timedOut)    GET http://a/x"])
        let cancelled = self.task { ($0.outcome, $0.reason) = ("cancelled", "cancelled") }
        #expect(TaskText.state(cancelled) == "cancelled")
        #expect(TaskText.state(self.task { ($0.state, $0.waitsFor) = ("waiting", "path") }) == "waiting(path)")
    }

    @Test("What counted as an attempt is shown, not every hop on the way")
    func attempts() {
        let ended = self.task { ($0.outcome, $0.attempts) = ("success", 1) }
        #expect(TaskText.details(ended, self.plain).contains("attempts  1"))
    }

    @Test("Names, keys and explanations cannot steer the reader's terminal")
    func controls() {
        let hostile = self.task { task in
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
        func line(_ event: String, _ members: String = "") -> [String] {
            text.lines(
                "{\"schema\":1,\"event\":\"task.\(event)\",\"time\":\"T\",\"task\":\"ID\"\(members)}", self.plain)
        }
        #expect(line("created", ",\"method\":\"GET\",\"url\":\"http://a/\"") == ["T  ID  accepted: GET http://a/"])
        #expect(line("held", ",\"reason\":\"path\",\"detail\":\"no path\"") == ["T  ID  waiting(path): no path"])
        #expect(line("held", ",\"reason\":\"backoff\"").isEmpty)
        #expect(line("gate", ",\"result\":\"open\"").isEmpty)
        #expect(line("progress", ",\"fraction\":0.41,\"expectedBytes\":2048") == ["T  ID  41 % of 2.0 KiB"])
        #expect(line("progress", ",\"fraction\":0.44,\"expectedBytes\":2048").isEmpty)
        #expect(line("progress", ",\"fraction\":0.5,\"expectedBytes\":2048") == ["T  ID  50 % of 2.0 KiB"])
        #expect(
            line("retryScheduled", ",\"reason\":\"http_5xx\",\"delaySeconds\":4") == ["T  ID  retry in 4s: http_5xx"])
        #expect(
            line("completed", ",\"outcome\":\"failure\",\"reason\":\"httpStatus\",\"explanation\":\"the server\"")
                == ["T  ID  failure(httpStatus): the server"])
        #expect(line("completed", ",\"outcome\":\"success\",\"file\":\"/x\"") == ["T  ID  success: /x"])
        #expect(
            text.lines("{\"schema\":1,\"event\":\"dropped\",\"count\":7}", self.plain)
                == ["7 events were lost; run tasks list for the current state"])
        #expect(text.lines("{\"schema\":1,\"event\":\"snapshot\",\"tasks\":[]}", self.plain) == ["no tasks"])
    }
}
