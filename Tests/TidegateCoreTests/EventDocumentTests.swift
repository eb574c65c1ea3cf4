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

    @Test("The events of a traced task have the trace, those of attempts the span")
    func traced() throws {
        let id = try #require(TaskID("018bcfe5-6800-7000-8000-000000000001"))
        let (trace, span) = ("0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331")
        let summary = AttemptSummary(number: 1, method: "GET", status: 200, duration: .zero, span: SpanID(span))
        let event = TaskEvent(id: id, taskKind: .data, trace: TraceID(trace), kind: .attemptSucceeded(summary))
        let json = self.json(.task(event))
        #expect(
            json.hasSuffix(
                #","attempt":1,"try":1,"status":200,"tls":null,"span":"\#(span)","trace":"\#(trace)","sentence":"attempt 1 succeeded"}"#
            ))
        let plain = self.json(.task(TaskEvent(id: id, taskKind: .data, kind: .attemptStarted(number: 1))))
        #expect(plain.hasSuffix(#""kind":"data","attempt":1,"sentence":"attempt 1 started"}"#))
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
                #","name":"sync","method":"GET","url":"https://a.example/x","durationSeconds":1.5,"sentence":"done: 5 B in 1.5 s"}"#
            ))
        #expect(!text.contains("secret") && !text.contains("token"))
        let open = self.json(payload, redaction: URLRedaction(query: false, userinfo: false))
        #expect(open.contains("https://me:secret@a.example/x?token=1#y"))
    }

    @Test("The URL of a task's creation is redacted, too")
    func created() throws {
        let id = try #require(TaskID("018bcfe5-6800-7000-8000-000000000001"))
        let event = TaskEvent(id: id, taskKind: .data, kind: .created(method: "GET", url: "http://u@h/p?q"))
        #expect(
            self.json(.task(event)).hasSuffix(
                #""method":"GET","url":"http://h/p","sentence":"accepted: GET http://h/p"}"#))
        let query = URLRedaction(query: false)
        #expect(
            self.json(.task(event), redaction: query).hasSuffix(
                #""method":"GET","url":"http://h/p?q","sentence":"accepted: GET http://h/p"}"#))
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

    @Test(
        "A probe's target that leaves the machine has only its scheme, host and port",
        arguments: [
            ("http://u:p@h:8/p/q?q=1#f", "http://h:8"), ("u:p@h:80/x", "h:80"), ("h?x", "h"), ("h:53", "h:53"),
            ("//u@h/x", "//h"), ("/run/a.sock", "/run/a.sock"), ("[::1]:80/x", "[::1]:80"), ("", ""),
        ])
    func origins(_ target: String, _ shown: String) { #expect(URLRedaction.toOrigin.target(from: target) == shown) }

    @Test("Every URL in a text loses all but its scheme, host and port")
    func texts() {
        let text = #"""
            {"url":"https://u:p@h.test:8443/T0/B0/xyz?token=1","x":"see http://a/b, or (wss://c/d'e)\nftp://f/g"}
            level=info msg="GET http://h/s3cret failed" url=http://h?x <http://h#y> a://b c://?x d:// e://u@
            """#
        #expect(
            URLRedaction.withOrigins(text) == #"""
                {"url":"https://h.test:8443","x":"see http://a or (wss://c\nftp://f"}
                level=info msg="GET http://h failed" url=http://h <http://h> a://b c:// d:// e://
                """#)
    }
}
