import Foundation
import Testing
@testable import TidegateCore
import TidegateTestKit

/// Every kind of event as programs and people get it: as JSON, as a line of the log, and as a sentence.
///
/// Clients parse these forms, so that a change here is a change for them.
@Suite struct RecordedEventTests {
    @Test("Every event has the JSON, the log line, the sentence and the place that were recorded")
    func recorded() throws {
        let answers = Self.events.flatMap { event -> [(evidence: String, answer: String)] in
            let projection = event.projection
            let line = projection.fields.compactMap { field in field.logKey.map { "\($0)=\(field.value)" } }
            return [
                ("\(event.name) json", event.json().description),
                ("\(event.name) log", "\(event.level) \"\(projection.message)\" \(line.joined(separator: " "))"),
                ("\(event.name) sentence", event.sentence), ("\(event.name) place", "\(event.relevance)"),
            ]
        }
        let file = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Golden/events.txt")
        #expect(try RecordedAnswers.differences(answers, from: file) == [])
    }

    @Test("docs/api.md has every event with its members, and names those that are not sent")
    func documented() throws {
        var members: [String: [String]] = [:]
        var sent: Set = ["task.progress"]
        for event in Self.events {
            // The page names the members of all tasks once.
            let common = event.payload.topic == .task ? ["task", "kind", "trace", "span"] : []
            let keys = event.projection.fields.compactMap(\.key).filter { !common.contains($0) }
            let known = members[event.name] ?? []
            members[event.name] = known + keys.filter { !known.contains($0) }
            if event.relevance >= .history { sent.insert(event.name) }
        }
        let file = URL(filePath: #filePath).appending(path: "../../../docs/api.md").standardized
        let page = try String(contentsOf: file, encoding: .utf8).components(separatedBy: "\n## ")
        let section = try #require(page.first { $0.hasPrefix("Events\n") })
        var rows: [String: [String]] = [:]
        for line in section.split(separator: "\n") where line.hasPrefix("| `") {
            let cells = line.split(separator: "|")
            rows[Self.quoted(cells[0]).joined()] = cells.count == 3 ? Self.quoted(cells[2]) : []
        }
        #expect(rows == members.filter { sent.contains($0.key) })
        let list = try #require(
            section.components(separatedBy: "and not sent:").last?.components(separatedBy: "\n- ").first)
        #expect(Set(Self.quoted(list)) == Set(members.keys).subtracting(sent))
    }

    private static func quoted(_ text: some StringProtocol) -> [String] {
        text.split(separator: "`", omittingEmptySubsequences: false).enumerated()
            .filter { $0.offset % 2 == 1 }.map { String($0.element) }
    }

    private static var events: [Event] {
        let payloads =
            EveryEvent.payloads.filter { $0.topic != .task } + EveryEvent.tasks(of: .download) + self.tasks
            + self.links.map { .link($0) } + self.sessions.map { .session($0) }
            + self.connections.map { .connection($0) }
        return payloads.map {
            Event(sequence: 7, time: WallTime(microseconds: 0), moment: MonotonicTime(nanoseconds: 0), payload: $0)
        }
    }

    private static let links: [LinkEvent] = {
        let link = Link(name: "eth1", index: 3, kind: .ethernet)
        return [LinkEvent(from: nil, to: link), LinkEvent(from: link, to: nil)]
    }()

    // What the common list leaves out: secrets in URLs, a lost path, other ways to end.
    private static let tasks: [Event.Payload] = {
        guard case .task(let first)? = EveryEvent.tasks(of: .upload).first else { return [] }
        let url = "https://me:secret@a.example/x?token=1"
        let lost = Attribution(party: .mine, rung: .carrier, evidence: ["eth0 has no carrier"])
        let result = { (outcome: TaskOutcome, status: Int?, failure: TaskFailure?, attribution: Attribution?) in
            TaskEvent.Kind.completed(
                TaskResult(
                    id: first.id, name: "sync", kind: .upload, method: "PUT", url: url, outcome: outcome,
                    status: status,
                    file: "/srv/a.iso", bytes: 5, sentBytes: 4096, attempts: 2, held: [.path: .seconds(3)],
                    duration: .seconds(5), failure: failure, attribution: attribution,
                    explanation: failure == .connectFailed ? "connection refused" : nil))
        }
        let kinds: [TaskEvent.Kind] = [
            .created(method: "PUT", url: url), .held(.circuit, detail: nil),
            .attemptFailed(EveryEvent.attempt(3, status: nil), .connectFailed, lost, isCharged: false),
            .attemptFailed(EveryEvent.attempt(4, status: nil), .cancelled, nil, isCharged: false),
            .retryScheduled(.failure(.connectFailed), delay: .seconds(1)), .continued(offset: 2048, total: nil),
            .progress(
                TransferProgress(offset: 100, receivedWire: 400, expected: 1000, sent: 5, expectedSent: 10, attempt: 2),
                delta: .init(received: 400)), result(.success, 201, nil, nil),
            result(.failure, 404, .httpStatus, Attribution(party: .theirs)),
            result(.failure, 503, .httpStatus, Attribution(party: .theirs)),
            result(.failure, nil, .connectFailed, Attribution(party: .theirs)),
        ]
        return kinds.map {
            .task(
                TaskEvent(id: first.id, taskKind: .upload, trace: TraceID("0af7651916cd43dd8448eb211c80319c"), kind: $0)
            )
        }
    }()

    private static let sessions: [SessionEvent] = {
        guard case .task(let first)? = EveryEvent.tasks(of: .data).first else { return [] }
        return [
            .circuitOpened(origin: "http://a.example:80", pause: .seconds(3)),
            .circuitClosed(origin: "http://a.example:80"),
            .attributionRevised(task: first.id, attempt: 2, from: .unknown, to: .upstream),
            .restoredTasksEnded(count: 1), .restoredTasksEnded(count: 3),
        ]
    }()

    private static let connections: [ConnectionEvent] = [
        .stalled(
            ConnectionEvent.Stall(
                ConnectionSamples.api, .unanswered, age: .milliseconds(1200), retransmits: 2,
                nextTry: .milliseconds(800), party: .theirs)), .recovered(ConnectionSamples.api),
        .failed(.init(ConnectionSamples.refusing, .refused, party: .theirs, count: 7)),
        .failed(.init(ConnectionSamples.api, .notSent, party: .mine, count: 1)),
        .groupSilent(gateway: IPAddress("10.0.0.1"), interface: "eth0", remotes: 3),
        .modeChanged(from: .event, to: .eventsOnly, reason: "lists are refused"),
        .modeChanged(from: .eventsOnly, to: .event, reason: nil), .dropped(count: 834),
    ]
}
