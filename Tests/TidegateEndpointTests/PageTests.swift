import Foundation
import Testing
import TidegateModel
import TidegateTestKit

@testable import TidegateEndpoint

@Suite struct PageTests {
    private let fixture = Fixture()

    private var html: String {
        get async { String(decoding: await self.fixture.ask("GET", "/").body, as: UTF8.self) }
    }

    @Test("The page tells level, way, families, links, targets and tasks")
    func content() async {
        self.fixture.view.change { $0.tasks = [.example()] }
        let html = await self.html
        for words in [
            "There is a way out", "eth0 through 10.0.0.1 from 10.0.0.2", "no address", "api.example.com:443",
            "http://10.0.0.1/file", "value=\"40\"", "400 B of 1000 B", "running", "Tidegate 1.2.3", "IPv6",
        ] {
            #expect(html.contains(words), "\(words)")
        }
        #expect(!html.contains("{{"))
    }

    @Test("Each level has words of its own", arguments: Level.allCases)
    func levels(_ level: Level) async {
        self.fixture.view.change { $0.status.global = Verdict(level: level) }
        #expect(await self.html.contains("<h1>\(level.headline)</h1>"))
        #expect(Set(Level.allCases.map(\.headline)).count == Level.allCases.count)
    }

    @Test("Nothing from outside becomes markup")
    func escaped() async throws {
        let evil = "<script>alert('1')</script>\"&{{facts}}"
        self.fixture.view.change { state in
            state.tasks = [.example(name: evil, url: evil)]
            state.status.links[0].name = evil
        }
        let html = await self.html
        #expect(!html.contains("<script"))
        #expect(html.contains("&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt;&quot;&amp;{{facts}}"))
    }

    @Test("The policy allows the one style sheet and nothing else")
    func policy() async throws {
        let answer = await self.fixture.ask("GET", "/")
        let policy = try #require(answer.fields.first { $0.name == "content-security-policy" }?.value)
        #expect(policy.hasPrefix("default-src 'none'; style-src 'sha256-"))
        let html = await self.html
        let style = try #require(
            html.components(separatedBy: "<style>").last?.components(separatedBy: "</style>").first)
        let file = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try style.write(to: file, atomically: true, encoding: .utf8)
        defer { try? FileManager.default.removeItem(at: file) }
        let digest = try await Program.expect(
            ["sh", "-c", "openssl dgst -sha256 -binary \(file.path) | openssl base64 -A"])
        #expect(policy.contains("'sha256-\(digest)'"), "the page's style has the hash \(digest)")
    }

    @Test("The page loads nothing from anywhere")
    func assets() async {
        for word in ["src=", "@import", "url(", "<script", "<link", "style=\"", "http-equiv=\"Content"] {
            #expect(await !self.html.contains(word), "\(word)")
        }
    }

    @Test("Sizes are told in units that people know")
    func sizes() {
        #expect(TransferProgress(receivedWire: 1023).words == "1023 B")
        #expect(TransferProgress(receivedWire: 1536, expected: 5 << 30).words == "1.5 KiB of 5.0 GiB")
    }
}
