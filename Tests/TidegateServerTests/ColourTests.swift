import Foundation
import Testing
import TidegateCore
import TidegateTestKit

@testable import TidegateServer

/// A party and a level have one colour, on the page and on the dashboards.
@Suite struct ColourTests {
    private let css = PageState.healthy.view.html

    /// The value of a custom property, which is the same in dark and light.
    private func colour(_ name: Substring) throws -> String {
        let found = self.css.matches(of: /--([a-z-]+):(#[0-9a-f]{6})/).filter { $0.1 == name }
        try #require(found.count == 1, "\(name) has one value")
        return String(found[0].2)
    }

    private func dashboards() throws -> [String] {
        try Dashboard.names.map { name in
            try String(contentsOf: Dashboard.folder.appendingPathComponent("\(name).json"), encoding: .utf8)
        }
    }

    /// The colours that dashboards give to a text.
    private func colours(of text: String) throws -> Set<String> {
        let mapped = try self.dashboards().flatMap { $0.matches(of: /"text": "([^"]+)", "color": "([^"]+)"/) }
        return Set(mapped.filter { $0.1 == text }.map { String($0.2) })
    }

    @Test("Each party has its colour on the page and in the overview", arguments: FaultParty.allCases)
    func parties(_ party: FaultParty) throws {
        let rule = try #require(
            self.css.firstMatch(of: try Regex("party-\(party.rawValue)\\{fill:var\\(--([a-z-]+)\\)")))
        let name = try #require(rule.output[1].substring)
        #expect(
            try self.colours(of: party.description).subtracting(party == .unknown ? [self.colour("f-none")] : []) == [
                self.colour(name)
            ])
    }

    @Test(
        "Each level has its colour on the page and on dashboards; routed alone is neutral",
        arguments: ReachabilityLevel.allCases)
    func levels(_ level: ReachabilityLevel) throws {
        let rule = try #require(
            self.css.firstMatch(of: try Regex("level-\(level.rawValue)[a-z,.-]*\\{fill:var\\(--([a-z-]+)\\)")))
        let name = try #require(rule.output[1].substring)
        #expect((name == "f-good") == (level == .online))
        // The party is "not known", too.
        let others = level == .unknown ? [try self.colour("unclear")] : []
        #expect(try self.colours(of: level.word).subtracting(others) == [self.colour(name)])
    }
}
