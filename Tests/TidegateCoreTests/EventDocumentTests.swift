import FoundationEssentials
import Testing
@testable import TidegateCore

@Suite struct EventDocumentTests {
    private func json(_ payload: Event.Payload, redaction: URLRedaction = URLRedaction()) -> String {
        let event = Event(
            sequence: 7, time: WallTime(microseconds: 0), moment: MonotonicTime(nanoseconds: 0), payload: payload)
        return event.json(redaction: redaction).description
    }

    private static let start = #"{"schema":1,"event":"#
    private static let middle = #","seq":7,"time":"1970-01-01T00:00:00.000Z""#

    @Test(
        "Every object begins alike and has its own members",
        arguments: [
            (.netlink(.overrun), #""netlink.overrun""#, "}"),
            (.netlink(.received(.newlink, count: 3)), #""netlink.received""#, #","type":"newlink","count":3}"#),
            (
                .netlink(.resynced(.overrun, duration: .milliseconds(2))), #""netlink.resynced""#,
                #","reason":"overrun","durationSeconds":0.002}"#
            ),
            (.netlink(.dumpInterrupted), #""netlink.dumpInterrupted""#, "}"),
            (.netlink(.malformed(count: 2)), #""netlink.malformed""#, #","count":2}"#),
            (.netlink(.lookedUp(count: 2)), #""netlink.lookedUp""#, #","count":2}"#),
            (.netlink(.modeChanged(.storm)), #""netlink.modeChanged""#, #","mode":"storm"}"#),
            (.netlink(.receiveBuffer(bytes: 9)), #""netlink.receiveBuffer""#, #","bytes":9}"#),
            (.netlink(.lost("no \"buffer\"")), #""netlink.lost""#, #","error":"no \"buffer\""}"#),
            (.session(.poolReplaced(number: 4)), #""session.epochBegan""#, #","epoch":4}"#),
            (
                .session(.circuitOpened(origin: "http://a:80", pause: .seconds(3))), #""session.circuitOpened""#,
                #","origin":"http://a:80","pauseSeconds":3}"#
            ),
            (
                .session(.circuitClosed(origin: "http://a:80")), #""session.circuitClosed""#,
                #","origin":"http://a:80"}"#
            ),
            (.session(.restoredTasksEnded(count: 3)), #""session.restoredTasksEnded""#, #","count":3}"#),
            (
                .session(.storedResponseDropped(file: "/v/a.json", problem: "is damaged")),
                #""session.storedResponseDropped""#, #","file":"/v/a.json","problem":"is damaged"}"#
            ),
            (.session(.reset), #""session.reset""#, "}"),
            (.session(.invalidated), #""session.invalidated""#, "}"),
            (.daemon(.configurationLoaded(isGood: false)), #""daemon.configurationLoaded""#, #","good":false}"#),
            (
                .daemon(.requestAnswered(handler: "page", status: 200)), #""daemon.requestAnswered""#,
                #","handler":"page","status":200}"#
            ),
            (.daemon(.runSkipped(task: "sync")), #""daemon.turnSkipped""#, #","name":"sync"}"#),
            (.daemon(.journal(.opened(unfinished: 2))), #""daemon.journalOpened""#, #","unfinished":2}"#),
            (
                .daemon(.journal(.failed(.diskFull, entries: 1))), #""daemon.journalFailed""#,
                #","reason":"diskFull","entries":1}"#
            ),
            (.daemon(.stopping), #""daemon.stopping""#, "}"),
        ] as [(Event.Payload, String, String)])
    func members(_ payload: Event.Payload, _ name: String, _ rest: String) {
        #expect(self.json(payload) == Self.start + name + Self.middle + rest)
    }

    @Test("The events of a traced task have the trace, those of attempts the span, and both are read again")
    func traced() throws {
        let id = try #require(TaskID("018bcfe5-6800-7000-8000-000000000001"))
        let (trace, span) = ("0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331")
        let summary = AttemptSummary(number: 1, method: "GET", status: 200, duration: .zero, span: SpanID(span))
        let event = TaskEvent(id: id, taskKind: .data, trace: TraceID(trace), kind: .attemptSucceeded(summary))
        let json = self.json(.task(event))
        #expect(json.hasSuffix(#","attempt":1,"try":1,"status":200,"tls":null,"span":"\#(span)","trace":"\#(trace)"}"#))
        let again = try JSONDecoder().decode(TaskEvent.self, from: Data(json.utf8))
        #expect(again.trace?.description == trace)
        guard case .attemptSucceeded(let read) = again.kind else {
            Issue.record("\(again)")
            return
        }
        #expect(read.span?.description == span)
        let plain = self.json(.task(TaskEvent(id: id, taskKind: .data, kind: .attemptStarted(number: 1))))
        #expect(plain.hasSuffix(#""kind":"data","attempt":1}"#))
    }

    @Test("The end of a task has its request, without the secrets of its URL")
    func completed() throws {
        let id = try #require(TaskID("018bcfe5-6800-7000-8000-000000000001"))
        let result = TaskResult(
            id: id, name: "sync", kind: .data, method: "GET", url: "https://me:secret@a.example/x?token=1#y",
            outcome: .success, status: 200, bytes: 5, duration: .milliseconds(1500))
        let payload = Event.Payload.task(TaskEvent(id: id, taskKind: .data, kind: .completed(result)))
        let text = self.json(payload)
        #expect(text.hasPrefix(Self.start + #""task.completed""# + Self.middle))
        #expect(
            text.hasSuffix(
                #","name":"sync","method":"GET","url":"https://a.example/x","durationSeconds":1.5}"#))
        #expect(!text.contains("secret") && !text.contains("token"))
        let open = self.json(payload, redaction: URLRedaction(query: false, userinfo: false))
        #expect(open.contains("https://me:secret@a.example/x?token=1#y"))
    }

    @Test("The URL of a task's creation is redacted, too")
    func created() throws {
        let id = try #require(TaskID("018bcfe5-6800-7000-8000-000000000001"))
        let event = TaskEvent(id: id, taskKind: .data, kind: .created(method: "GET", url: "http://u@h/p?q"))
        #expect(self.json(.task(event)).hasSuffix(#""method":"GET","url":"http://h/p"}"#))
        let query = URLRedaction(query: false)
        #expect(self.json(.task(event), redaction: query).hasSuffix(#""method":"GET","url":"http://h/p?q"}"#))
    }

    @Test(
        "What must not be shown is left out of a URL, and nothing else",
        arguments: [
            ("http://h/p", "http://h/p", "http://h/p"),
            ("http://u:p@h:8/p?q=1#f", "http://h:8/p", "http://h:8/p?q=1#f"),
            ("http://u@p@h/", "http://h/", "http://h/"),
            ("http://h/@p?a=b@c", "http://h/@p", "http://h/@p?a=b@c"),
            ("http://h?x@y", "http://h", "http://h?x@y"),
            ("http://u:p@h#f", "http://h", "http://h#f"),
            ("nonsense?x", "nonsense", "nonsense?x"), ("", "", ""), ("//u@h", "//h", "//h"),
        ])
    func redaction(_ url: String, _ both: String, _ withQuery: String) {
        #expect(URLRedaction().text(of: url) == both)
        #expect(URLRedaction(query: false).text(of: url) == withQuery)
        #expect(URLRedaction(query: false, userinfo: false).text(of: url) == url)
    }

    @Test(
        "What a probe asks loses its secrets, with a scheme or without",
        arguments: [
            ("http://u:p@h/?q=1", "http://h/"), ("u:p@h:80/x", "h:80/x"), ("u:p@h/?to=http://a@b/", "h/"),
            ("u:p@h/ws://x", "h/ws://x"), ("wss://u@h/", "wss://h/"), ("h:53", "h:53"),
            ("/run/a@b.sock", "/run/a@b.sock"), ("://u:p@h", "://h"), ("//u@h", "//h"),
            (" http://u:p@h/", " http://h/"), ("2001:db8::1", "2001:db8::1"), ("", ""),
        ])
    func probeTargets(_ target: String, _ shown: String) { #expect(URLRedaction().target(from: target) == shown) }
}
