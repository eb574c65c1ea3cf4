import Foundation
import Testing
import TidegateCore
import TidegateMetrics
import TidegateTestKit

@testable import TidegateServer

@Suite struct CompressionTests {
    private let fixture = Fixture()

    @Test("What is compressed comes back as it was from another gzip", arguments: [0, 1, 1000, 1_000_000])
    func roundTrip(_ count: Int) async throws {
        let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* $0 >> 3) }
        let compressed = try #require(Gzip.compress(bytes))
        let file = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        defer { try? FileManager.default.removeItem(at: file) }
        try Data(compressed).write(to: file)
        let digests = try await Program.expect(["sh", "-c", "gzip -dc < \(file.path) | sha256sum"])
        try Data(bytes).write(to: file)
        #expect(digests == (try await Program.expect(["sh", "-c", "sha256sum < \(file.path)"])))
    }

    @Test(
        "Only who asks for gzip gets it",
        arguments: [
            ("gzip", true), ("deflate, gzip;q=0.5, br", true), ("GZIP", true), ("gzip; q=1", true),
            (nil, false), ("", false), ("*", false), ("gzip;q=0", false), ("gzip;q=0.0", false), ("x-gzip", false),
            ("identity", false), ("gzip;q=nonsense", false), (";;,,", false),
        ] as [(String?, Bool)])
    func negotiation(_ header: String?, _ expected: Bool) async {
        let answer = await self.fixture.ask("GET", "/metrics", encoding: header)
        #expect(answer.body.starts(with: Gzip.mark) == expected)
        #expect(answer.fields.contains { $0 == ("content-encoding", "gzip") } == expected)
        #expect(answer.fields.contains { $0 == ("vary", "Accept, Accept-Encoding") })
    }

    @Test("A compressed exposition is a fraction of its size")
    func ratio() async {
        EveryEvent.payloads.forEach(self.fixture.bus.publish)
        let whole = await self.fixture.ask("GET", "/metrics").body.count
        #expect(await self.fixture.ask("GET", "/metrics", encoding: "gzip").body.count * 5 < whole)
    }

    @Test(
        "A scrape can choose families by name, however the query is written",
        arguments: [
            "/metrics?name[]=tidegate_build_info", "/metrics?name%5B%5D=tidegate%5fbuild_info",
            "/metrics?x=1&name[]=tidegate_build_info&name[]=nothing",
        ])
    func names(_ target: String) async {
        let text = String(decoding: await self.fixture.ask("GET", target).body, as: UTF8.self)
        #expect(text.split(separator: "\n").count == 3)
        #expect(text.contains("\ntidegate_build_info{"))
    }

    @Test("Broken escapes in a query stay as they are")
    func escapes() {
        #expect(Question(method: "GET", target: "/?a=%zz&b=%4&c=%41+%").values(of: "a") == ["%zz"])
        #expect(Question(method: "GET", target: "/?a=%zz&b=%4&c=%41+%").values(of: "c") == ["A %"])
        #expect(Question(method: "GET", target: "/?&&=&a").values(of: "a") == [""])
    }

    @Test("Who asks while an exposition is being made gets the same one")
    func coalescing() async {
        let desk = ScrapeCoalescer()
        let order = ScrapeCoalescer.Order(format: .text, names: [], isCompressed: false)
        #expect(desk.begins(order))
        let bodies = await withTaskGroup(of: [UInt8].self) { group in
            for _ in 0..<15 { group.addTask { await desk.exposition(order) { [0] } } }
            while desk.waitingCount(for: order) < 15 { await Task.yield() }
            #expect(desk.finish(order, [7]) == [7])
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(bodies == Array(repeating: [7], count: 15))
        #expect(await desk.exposition(order) { [8] } == [8])
    }
}
