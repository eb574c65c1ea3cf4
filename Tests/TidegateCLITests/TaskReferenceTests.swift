import Testing
import TidegateCore

@testable import TidegateCLI

/// Which task a word on the command line names.
@Suite struct TaskReferenceTests {
    private func task(
        _ id: String, key: String? = nil, name: String? = nil, outcome: String? = nil
    ) throws -> TaskDocument {
        let taskID = try #require(TaskID("018bcfe5-6800-7000-8000-000000000001"))
        var task = TaskDocument(
            TaskInfo(
                id: taskID, kind: .data, method: "GET", url: "http://a/x", state: .suspended,
                progress: TransferProgress(), created: WallTime(microseconds: 0)))
        (task.id, task.key, task.name, task.outcome) = (id, key, name, outcome)
        return task
    }

    private func message(_ word: String, _ tasks: [TaskDocument]) -> CommandError? {
        #expect(throws: CommandError.self) { try TaskReference.find(word, in: tasks) }
    }

    @Test("A key comes before a name, and a name before the beginning of an id")
    func order() throws {
        let tasks = [
            try self.task("aaaa1111-1", key: "bbbb"), try self.task("bbbb1111-1", name: "aaaa"),
            try self.task("cccc1111-1", name: "bbbb"),
        ]
        #expect(try TaskReference.find("bbbb", in: tasks) == "aaaa1111-1")
        #expect(try TaskReference.find("aaaa", in: tasks) == "bbbb1111-1")
        #expect(try TaskReference.find("CCCC1", in: tasks) == "cccc1111-1")
        let id = "018bcfe5-6800-7000-8000-000000000009"
        #expect(try TaskReference.find(id, in: []) == id, "a whole id needs no list")
    }

    @Test("Of several tasks with a key the one that is not over is meant, or else the newest")
    func several() throws {
        let old = [try self.task("1", key: "k", outcome: "success"), try self.task("2", key: "k", outcome: "failure")]
        #expect(try TaskReference.find("k", in: old) == "2")
        #expect(try TaskReference.find("k", in: [try self.task("0", key: "k")] + old) == "0")
    }

    @Test("What fits several tasks is a usage error that names them, and what fits none is not there")
    func ambiguous() throws {
        let tasks = try (1...6).map { try self.task("0199a3c\($0)-x", key: $0 < 3 ? "two" : nil) }
        let key = self.message("two", tasks)
        #expect(key?.status == .usage)
        #expect(key?.message == "the key \"two\" fits 2 tasks: 0199a3c1-x (two), 0199a3c2-x (two)")
        #expect(
            self.message("0199a3c", tasks)?.message
                == "\"0199a3c\" fits 6 tasks: 0199a3c3-x, 0199a3c4-x, 0199a3c5-x, 0199a3c6-x and 2 more")
        for word in ["019", "", "nope", "0199a3c7"] {
            let error = self.message(word, tasks)
            #expect(error?.status == .no && error?.message == "no such task: \"\(word)\"")
        }
    }

    @Test("Short ids are what tells the tasks apart, and name them again")
    func short() throws {
        let ids = ["0199a3c2-1f4b-7000", "0199a3c2-1f4b-7abc", "0199a3c2-2000-7abc", "0199b000-1f4b-7abc"]
        let short = TaskReference.shortIDs(of: ids)
        #expect(ids.map { short[$0] } == ["0199a3c2-1f4b-70", "0199a3c2-1f4b-7a", "0199a3c2-2", "0199b000"])
        let tasks = try ids.map { try self.task($0) }
        for id in ids { #expect(try TaskReference.find(short[id] ?? "", in: tasks) == id) }
    }
}
