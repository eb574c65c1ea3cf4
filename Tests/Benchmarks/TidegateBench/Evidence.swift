import Tidegate
import TidegateTestKit

/// Measures the path to a target as `tidegate explain` does, and prints everything that the decision is made from.
struct Evidence {
    let url: String
    let time: Duration

    func run() async throws {
        let monitor = try Monitor()
        _ = await monitor.reachability.firstStatus(within: .seconds(5))
        let explanation = await monitor.diagnostics.explain(
            try ExplainTarget(self.url), families: [.ipv4], within: .seconds(10), measuring: self.time
        ) { _ in }
        guard let quality = explanation.quality else { throw NotMeasured(sentence: explanation.sentence) }
        print(try RecordedQuality(quality.evidence).line())
        await monitor.stop()
    }

    private struct NotMeasured: Error {
        let sentence: String
    }
}
