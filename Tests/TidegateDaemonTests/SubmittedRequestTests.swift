import Testing
import Tidegate
import TidegateCore

@testable import TidegateDaemon

@Suite struct SubmittedRequestTests {
    private func refusal(_ change: (inout TaskSubmission) -> Void) -> String? {
        var submission = TaskSubmission(url: "http://a.example/x")
        change(&submission)
        do {
            _ = try submission.request()
            _ = try submission.duplicatePolicy()
            return nil
        } catch {
            return error.description
        }
    }

    @Test("A download never becomes a program that runs as its owner")
    func modes() throws {
        #expect(self.refusal { ($0.output, $0.mode) = ("/tmp/x", "0755") } == nil)
        for mode in ["4755", "2755", "1777"] {
            #expect(
                self.refusal { ($0.output, $0.mode) = ("/tmp/x", mode) }
                    == "\"\(mode)\" has bits other than permissions (maximum \"0777\")")
        }
        let text = "tasks: [{name: a, url: \"http://a/x\", every: 1m, download: /tmp/x, mode: \"4755\"}]"
        let error = #expect(throws: ConfigurationError.self) { try Configuration.parse(text, file: "t.yml") }
        #expect(error?.description.contains("has bits other than permissions") == true)
    }

    @Test("A path with a NUL would be cut off there, and is refused")
    func nul() throws {
        #expect(self.refusal { $0.output = "/tmp/a\0b" } == "\"output\" contains a NUL character")
        #expect(self.refusal { $0.bodyFile = "/etc/passwd\0.txt" } == "\"bodyFile\" contains a NUL character")
        let text = "tasks: [{name: a, url: \"http://a/x\", every: 1m, download: \"/tmp/x\\0y\"}]"
        #expect(throws: ConfigurationError.self) { try Configuration.parse(text, file: "t.yml") }
    }

    @Test("Keys and names have a bound, and a policy for duplicates needs a key")
    func names() {
        let long = String(repeating: "k", count: 1025)
        #expect(self.refusal { $0.key = long } == "\"key\" is 1025 bytes long (maximum 1024)")
        #expect(self.refusal { $0.name = long } == "\"name\" is 1025 bytes long (maximum 1024)")
        #expect(self.refusal { $0.key = String(long.dropFirst()) } == nil)
        #expect(self.refusal { $0.onDuplicate = "replace" } == "\"onDuplicate\" requires \"key\"")
        #expect(self.refusal { ($0.key, $0.onDuplicate) = ("k", "replace") } == nil)
    }
}
