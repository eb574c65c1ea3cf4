import Foundation
import Testing
import TidegateCore
import TidegateTestKit

@testable import TidegateServer

@Suite struct TaskPageTests {
    private struct Page: Decodable {
        let tasks: [TaskDocument]
        let next: String?
        let total: Int
    }

    private func page(_ fixture: Fixture, _ query: String) async throws -> Page {
        let response = try await fixture.respond("GET", "/api/v1/tasks\(query)")
        return try JSONDecoder().decode(Page.self, from: Data(response.body))
    }

    private func fixture(tasks count: Int) -> Fixture {
        let fixture = Fixture()
        fixture.view.change { state in state.tasks = (0..<count).map { _ in TaskInfo.example() } }
        return fixture
    }

    @Test(
        "A row shows how much of the request's body is sent while it is, and then the response",
        arguments: [
            (.running(attempt: 1), TransferProgress(sent: 512, expectedSent: 2048), "512 B of 2.0 KiB sent", 25),
            (.running(attempt: 1), TransferProgress(sent: 512), "512 B sent", nil),
            (
                .running(attempt: 1),
                TransferProgress(receivedWire: 100, expected: 200, sent: 2048, expectedSent: 2048),
                "100 B of 200 B", 50
            ),
            (.completed(.success), TransferProgress(sent: 2048, expectedSent: 2048), "2.0 KiB sent", nil),
            (.completed(.failure), TransferProgress(sent: 512, expectedSent: 2048), "512 B of 2.0 KiB sent", nil),
            (
                .completed(.success), TransferProgress(receivedWire: 100, expected: 100, sent: 512, expectedSent: 512),
                "100 B", nil
            ),
        ] as [(TaskState, TransferProgress, String, Int?)])
    func bodies(_ state: TaskState, _ progress: TransferProgress, _ text: String, _ percent: Int?) async throws {
        let fixture = Fixture()
        var task = TaskInfo.example()
        (task.kind, task.state, task.progress) = (.data, state, progress)
        fixture.view.change { [task] in $0.tasks = [task] }
        let page = try await fixture.respond("GET", "/").text
        #expect(page.contains("<span class=\"bytes\">\(text)</span>"))
        #expect(page.contains("value=\"\(percent ?? -1)\"") == (percent != nil))
    }

    @Test("Something turns in the header while a task runs that began a second ago")
    func busy() async throws {
        let fixture = Fixture()
        func header(_ state: TaskState, runningFor duration: Duration) async throws -> Bool {
            var task = TaskInfo.example()
            (task.state, task.started) = (state, fixture.time.wall() + (.zero - duration))
            fixture.view.change { [task] in $0.tasks = [task] }
            let page = try await fixture.respond("GET", "/").text
            let number = state.name == .running ? 1 : 0
            #expect(page.contains("data-running=\"\(number)\""))
            return !page.contains("data-running=\"\(number)\" hidden>")
        }
        #expect(try await header(.running(attempt: 1), runningFor: .seconds(1)))
        #expect(try await !header(.running(attempt: 1), runningFor: .milliseconds(999)))
        #expect(try await !header(.waiting(.path, detail: nil), runningFor: .seconds(9)))
        #expect(try await !header(.completed(.success), runningFor: .seconds(9)))
    }

    @Test("Every task is on one page, in the order of their ids", arguments: [1, 7, 100, 1000])
    func pages(_ limit: Int) async throws {
        let fixture = self.fixture(tasks: 100)
        var ids: [String] = []
        var query = "?limit=\(limit)"
        while true {
            let page = try await self.page(fixture, query)
            #expect(page.total == 100 && page.tasks.count <= limit)
            ids += page.tasks.map(\.id)
            guard let next = page.next else { break }
            query = "?limit=\(limit)&after=\(next)"
        }
        #expect(ids == fixture.view.tasks().map(\.id).sorted().map(\.description))
    }

    @Test("A page has 1,000 tasks, and begins behind a task that is gone, too")
    func bounds() async throws {
        let fixture = self.fixture(tasks: 2500)
        let first = try await self.page(fixture, "")
        #expect(first.tasks.count == 1000 && first.next == first.tasks.last?.id && first.total == 2500)
        fixture.view.change { state in state.tasks.removeAll { $0.id.description == first.next } }
        let second = try await self.page(fixture, "?after=\(first.next ?? "")")
        #expect(second.tasks.count == 1000 && second.total == 2499)
        #expect(Set(second.tasks.map(\.id)).isDisjoint(with: first.tasks.map(\.id)))
    }

    @Test(
        "A malformed page gets 400",
        arguments: ["limit=0", "limit=1001", "limit=x", "limit=", "after=x", "after=", "limit=1&limit=2"])
    func malformed(_ query: String) async throws {
        let response = try await Fixture().respond("GET", "/api/v1/tasks?\(query)")
        #expect(response.status == 400 && response.text.contains("limit is a number from 1 to 1000"))
    }

    @Test("The page of 100,000 tasks stays small, shows the named one among them, and counts all")
    func manyTasks() async throws {
        let fixture = Fixture()
        fixture.view.change { state in
            state.tasks = (0..<100_000).map { number in
                .example(name: number == 5 ? "nightly" : nil, url: "http://10.0.0.1/\(number)")
            }
        }
        let text = try await fixture.respond("GET", "/").text
        #expect(text.utf8.count < 200_000)
        #expect(text.contains("nightly") && text.contains("100000 running") && text.contains("And 99979 more"))
        let sample = fixture.view.taskSample(atMost: 1000)
        #expect(sample.tasks.count == 1000 && sample.total == 100_000 && sample.tasks[0].name == "nightly")
    }

    @Test("Of many tasks the named ones are shown, then what runs, then what waits")
    func sample() {
        func task(_ name: String?, _ state: TaskState) -> TaskInfo {
            var task = TaskInfo.example(name: name)
            task.state = state
            return task
        }
        let tasks = [
            task("a", .completed(.success)), task(nil, .waiting(.path, detail: nil)), task(nil, .running(attempt: 1)),
            task(nil, .suspended), task(nil, .completed(.success)), task(nil, .completed(.success)),
        ]
        func shown(_ limit: Int) -> [Int] {
            let sample = TaskSample(
                of: tasks, atMost: limit, isNamed: { $0.name != nil }, state: \.state, info: { $0 })
            #expect(sample.counts == [.completed: 3, .waiting: 1, .running: 1, .suspended: 1])
            #expect(sample.waiting == [.path: 1])
            return sample.tasks.compactMap { info in tasks.firstIndex { $0.id == info.id } }
        }
        #expect(shown(1) == [0])
        #expect(shown(3) == [0, 1, 2])
        #expect(shown(5) == [0, 1, 2, 3, 5])
        #expect(shown(9) == [0, 1, 2, 3, 4, 5])
    }
}
