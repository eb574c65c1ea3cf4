import Foundation
import Testing
import TidegateCore
import TidegateTestKit

@testable import TidegateServer

/// The examples of JSON in docs/api.md have the members that the endpoint's answers have.
@Suite struct APIExampleTests {
    private static func examples() throws -> [[String: Any]] {
        let page = Dashboard.folder.deletingLastPathComponent().appendingPathComponent("docs/api.md")
        let blocks = try String(contentsOf: page, encoding: .utf8).components(separatedBy: "```json\n").dropFirst()
        return try blocks.map { block in
            let text = block.components(separatedBy: "\n```")[0]
            return try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
        }
    }

    /// Where two values differ in their members; what is null or empty in one of them says nothing.
    private static func differences(_ own: Any, _ other: Any, at path: String = "") -> [String] {
        switch (own, other) {
        case (let own as [String: Any], let other as [String: Any]) where path.hasSuffix(".families"):
            return self.differences(own["ipv4"] ?? NSNull(), other["ipv4"] ?? NSNull(), at: "\(path).ipv4")
        case (let own as [String: Any], let other as [String: Any]):
            let missing = Set(own.keys).symmetricDifference(other.keys).sorted().map { "\(path).\($0)" }
            return missing
                + own.flatMap { key, value in
                    other[key].map { self.differences(value, $0, at: "\(path).\(key)") } ?? []
                }
        case (let own as [Any], let other as [Any]):
            guard let first = own.first, let second = other.first else { return [] }
            return self.differences(first, second, at: "\(path)[]")
        case (_ as [Any], _ as String), (_ as [String: Any], _ as String): return [path]
        default: return []
        }
    }

    /// An endpoint whose lists are not empty.
    private static var fixture: Fixture {
        var fixture = Fixture()
        fixture.scheduledProbes = [ScheduledProbePageTests.report([.success, .failure, .inconclusive])]
        var interval = RemoteReport.Interval(age: .seconds(20))
        (interval.succeeded, interval.failures) = (4, [.theirs: 1])
        var report = ConnectionSamples.report
        report.remotes[0].history = [interval]
        fixture.view.change { state in
            (state.tasks, state.connections) = ([.example()], ScriptedObservation(report))
        }
        return fixture
    }

    @Test(
        "Every object has an example with all of its members",
        arguments: [
            ("status", "families"), ("targets", "targets"), ("tasks", "tasks"), ("probes", "probes"),
            ("connections", "remotes"),
        ])
    func members(_ route: String, _ key: String) async throws {
        let response = try await Self.fixture.respond("GET", "/api/v1/\(route)")
        let answer = try #require(
            try JSONSerialization.jsonObject(with: Data(response.text.utf8)) as? [String: Any])
        #expect((answer[key] as? [Any])?.isEmpty != true)
        let example = try #require(
            try Self.examples().first { $0[key] != nil && ($0["level"] != nil) == (route == "status") })
        #expect(Self.differences(example, answer) == [])
    }
}
