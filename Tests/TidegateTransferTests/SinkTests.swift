internal import TidegateModel
internal import TidegateTestKit
internal import TidegateTransfer
internal import Testing

@Suite("Sinks")
struct SinkTests {
    @Test("A small body arrives in memory, with its head, contact and phases")
    func memory() throws {
        let server = try LiveServer { _ in .respond(200, ["X-Tide: high"], text: "hello") }
        defer { server.stop() }
        let recorder = try AttemptRecorder()
        let outcome = try recorder.run(AttemptRequest(1, server.url("/a?b=c")))
        #expect(outcome.failure == nil)
        #expect(outcome.curlCode == 0)
        #expect(String(decoding: outcome.body, as: UTF8.self) == "hello")
        #expect(outcome.head?.status == 200)
        #expect(outcome.head?.field("x-tide") == "high")
        #expect(outcome.isLengthVerified)
        #expect(outcome.contact?.remote == IPAddress("127.0.0.1"))
        #expect(outcome.contact?.local == IPAddress("127.0.0.1"))
        #expect(outcome.connectionsOpened == 1)
        #expect(outcome.phases.connect != nil)
        #expect(outcome.phases.tls == nil)
        #expect(outcome.phases.processing != nil)
        #expect(outcome.progress.received == 5)
        #expect(outcome.progress.expected == 5)
        #expect(server.requests.map(\.path) == ["/a?b=c"])
        let kinds = recorder.reports(of: AttemptID(1)).map(kind)
        #expect(kinds == ["wireReached", "head", "finished"])
    }
}

func kind(_ report: AttemptReport) -> String {
    switch report {
    case .wireReached: "wireReached"
    case .head: "head"
    case .progress: "progress"
    case .finished: "finished"
    }
}
