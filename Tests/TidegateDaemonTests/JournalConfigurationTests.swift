import Testing
import Tidegate
import TidegateStore

@testable import TidegateDaemon

@Suite struct JournalConfigurationTests {
    @Test(
        "Mistakes about the journal are named, and what is right is taken",
        arguments: [
            ("journal: {keep_completed: soon}", "journal.keep_completed: \"soon\" is not a duration"),
            ("journal: {keep_completed: inf}", "journal.keep_completed: must be finite"),
            ("journal: {max_open_tasks: 0}", "journal.max_open_tasks: "),
            ("journal: {path_events: 1ms}", "journal.path_events: 1ms is below the minimum of 1s"),
            ("journal: {keep: 1h}", "journal.keep: unknown key"),
            ("journal: 1h", "journal: expected "), ("journal: [1h]", "journal: expected "),
        ])
    func journalMistakes(_ text: String, _ message: String) throws {
        let error = try #require(throws: ConfigurationError.self) { try Configuration.parse(text, file: "t.yml") }
        #expect(error.description.hasPrefix("t.yml:1: \(message)"), "\(error.description)")
    }

    @Test("The journal's keys are read, and scheduled requests wait out a full disk")
    func journal() throws {
        let configuration = try Configuration.parse("journal: {keep_completed: 12h, path_events: 3h}", file: "t.yml")
        #expect(configuration.journal.retention.completed == .seconds(43_200))
        #expect(configuration.journal.retention.pathEvents == .seconds(10_800))
        #expect(try configuration.monitorConfiguration(version: "1").session.waitsOut)
    }

    @Test("A scheduled request is held to its SHA-256")
    func digest() throws {
        let digits = String(repeating: "aB", count: 32)
        let text = "tasks: [{name: a, url: \"http://a/\", every: 1m, sha256: \(digits)}]"
        let configuration = try Configuration.parse(text, file: "t.yml")
        let request = try #require(configuration.tasks.first).request(under: configuration.transfers)
        #expect(request.options.sha256?.description == digits.lowercased())
    }
}
