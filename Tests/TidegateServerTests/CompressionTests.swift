import Foundation
import HTTPTypes
import Testing
import TidegateCore
import TidegateMetrics
import TidegateTestKit

@testable import TidegateServer

@Suite struct CompressionTests {
    private let fixture = Fixture()

    @Test("Compressed bytes decompress with gzip(1)", arguments: [0, 1, 1000, 1_000_000])
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
        "Only clients that accept gzip get it",
        arguments: [
            ("gzip", true), ("deflate, gzip;q=0.5, br", true), ("GZIP", true), ("gzip; q=1", true),
            (nil, false), ("", false), ("*", false), ("gzip;q=0", false), ("gzip;q=0.0", false), ("x-gzip", false),
            ("identity", false), ("gzip;q=nonsense", false), (";;,,", false),
        ] as [(String?, Bool)])
    func negotiation(_ header: String?, _ expected: Bool) async throws {
        let response = try await self.fixture.respond("GET", "/metrics", encoding: header)
        #expect(response.body.starts(with: Gzip.magic) == expected)
        #expect(response.headers[.contentEncoding] == (expected ? "gzip" : nil))
        #expect(response.headers[.vary] == "Accept, Accept-Encoding")
    }

    @Test("A compressed exposition is a fraction of its size")
    func ratio() async throws {
        EveryEvent.payloads.forEach(self.fixture.bus.publish)
        let whole = try await self.fixture.respond("GET", "/metrics").body.count
        #expect(try await self.fixture.respond("GET", "/metrics", encoding: "gzip").body.count * 5 < whole)
    }

    @Test(
        "A scrape can choose families by name, however the query is written",
        arguments: [
            "/metrics?name[]=tidegate_build_info", "/metrics?name%5B%5D=tidegate%5fbuild_info",
            "/metrics?x=1&name[]=tidegate_build_info&name[]=nothing",
        ])
    func names(_ target: String) async throws {
        let text = try await self.fixture.respond("GET", target).text
        #expect(text.split(separator: "\n").count == 3)
        #expect(text.contains("\ntidegate_build_info{"))
    }

    @Test("Invalid escapes in a query stay as they are")
    func escapes() {
        #expect(QueryParameters(target: "/?a=%zz&b=%4&c=%41+%").values(of: "a") == ["%zz"])
        #expect(QueryParameters(target: "/?a=%zz&b=%4&c=%41+%").values(of: "c") == ["A %"])
        #expect(QueryParameters(target: "/?&&=&a").values(of: "a") == [""])
    }

    @Test("Scrapes that arrive while an exposition is being made share it")
    func coalescing() async {
        let scrapes = ResponseCoalescer<String>()
        let key = "metrics"
        #expect(scrapes.begin(key))
        let bodies = await withTaskGroup(of: [UInt8].self) { group in
            for _ in 0..<15 { group.addTask { await scrapes.body(key) { [0] } } }
            while scrapes.waitingCount(for: key) < 15 { await Task.yield() }
            #expect(scrapes.finish(key, [7]) == [7])
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(bodies == Array(repeating: [7], count: 15))
        #expect(await scrapes.body(key) { [8] } == [8])
    }
}
