import Testing
@testable import TidegateCore
import TidegateProbes
import TidegateTestKit

/// Questions that no probe comes of, in the order in which blackbox_exporter looks at them.
struct ProbeRefusalTests {
    @Test(
        "What is asked for wrongly is refused before anything is sent, and leaves no trace in the history",
        arguments: [
            (ProbeQuestion(module: "x", target: "", scrapeTimeout: "y"), ProbeRefusal.unknownModule("x")),
            (ProbeQuestion(module: "m", target: "", scrapeTimeout: "y"), .badTimeout("y")),
            (ProbeQuestion(module: "m", target: "", scrapeTimeout: "9"), .missingTarget),
            (ProbeQuestion(module: "m", target: ""), .missingTarget),
        ])
    func refusals(_ question: ProbeQuestion, _ refusal: ProbeRefusal) async {
        let fixture = ProbeFixture()
        await #expect(throws: refusal) { try await fixture.runner.probe(question) }
        #expect(fixture.runner.history.isEmpty)
    }

    @Test("A scheduled probe of a module that a reload has removed does not run")
    func removedModule() async {
        let probe = ScheduledProbe(name: "a", module: "gone", target: "127.0.0.1:1", every: .seconds(60))
        #expect(await ProbeFixture().runner.run(probe) == nil)
    }
}
