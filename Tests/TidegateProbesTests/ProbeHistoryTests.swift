import Testing
import TidegateCore
import TidegateProbes
import TidegateTestKit

struct ProbeHistoryTests {
    @Test("The latest probes are remembered, and failures longer")
    func history() async throws {
        let server = try LiveServer { $0.path == "/bad" ? .respond(500) : .respond(text: "ok") }
        defer { server.stop() }
        let fixture = ProbeFixture(historyLimit: 3)
        for path in ["/bad", "/1", "/2", "/3", "/4"] { _ = try await fixture.probe(server.url(path)) }
        let history = fixture.runner.history
        #expect(history.map(\.number) == [5, 4, 3, 1])
        #expect(history.last?.failure?.reason == "status")
        #expect(history.map(\.target) == ["/4", "/3", "/2", "/bad"].map { server.url($0) })
    }
}
