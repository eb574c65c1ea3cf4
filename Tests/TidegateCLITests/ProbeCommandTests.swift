import Foundation
import Testing
import TidegateTestKit

/// `tidegate probe` as a program.
@Suite(.timeLimit(.minutes(5))) struct ProbeCommandTests {
    private static func run(_ arguments: String...) async throws -> Program.Output {
        try await Program.run([BuiltProduct.path(of: "tidegate"), "probe"] + arguments)
    }

    private static func withModules(_ text: String, _ body: (String) async throws -> Void) async throws {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("modules-\(UUID().uuidString).yml")
        try text.write(to: file, atomically: true, encoding: .utf8)
        defer { try? FileManager.default.removeItem(at: file) }
        try await body(file.path)
    }

    @Test("A probe prints its metrics, and its exit status says what came of it")
    func probe() async throws {
        let server = try LiveServer { $0.path == "/" ? .respond(text: "ok") : .respond(503) }
        defer { server.stop() }
        let good = try await Self.run("http_2xx", server.url())
        #expect(good.status == 0 && good.errors.isEmpty)
        #expect(good.output.contains("\nprobe_success 1\n") && good.output.contains("\nprobe_timeout_seconds 10\n"))
        let bad = try await Self.run("http_2xx", server.url("/bad"))
        #expect(bad.status == 1 && bad.output.contains("\nprobe_success 0\n"))
        #expect(bad.errors == "tidegate: \(server.url("/bad")): 503, expected 2xx (the server)\n")
    }

    @Test("-q prints only errors, -v the log and the module")
    func verbosity() async throws {
        let server = try LiveServer { $0.path == "/" ? .respond(text: "ok") : .respond(503) }
        defer { server.stop() }
        let good = try await Self.run("-q", "http_2xx", server.url())
        #expect(good.status == 0 && good.output.isEmpty && good.errors.isEmpty, "\(good)")
        let bad = try await Self.run("-q", "http_2xx", server.url("/bad"))
        #expect(bad.status == 1 && bad.output.isEmpty && bad.errors.hasSuffix("503, expected 2xx (the server)\n"))
        let more = try await Self.run("-v", "http_2xx", server.url())
        #expect(more.output.hasPrefix("Logs for the probe:\nts="), "\(more)")
    }

    @Test("--debug prints what happened and the module without its secrets")
    func debug() async throws {
        let server = try LiveServer { _ in .respond(text: "ok") }
        defer { server.stop() }
        try await Self.withModules("modules: {m: {prober: http, http: {bearer_token: s3cret}}}") { file in
            let output = try await Self.run("--debug", "--config.file", file, "m", server.url())
            #expect(output.status == 0 && output.output.hasPrefix("Logs for the probe:\nts="))
            #expect(output.output.contains("\nModule configuration:\nprober: http\nhttp:\n  bearer_token: <secret>\n"))
            #expect(!output.output.contains("s3cret"))
            #expect(server.requests.first?.field("authorization") == "Bearer s3cret")
        }
    }

    @Test("Wrong modules, files and flags are usage errors that name what is wrong")
    func mistakes() async throws {
        let unknown = try await Self.run("nope", "http://127.0.0.1/")
        #expect(unknown.status == 2)
        #expect(
            unknown.errors == "tidegate: unknown module \"nope\": give the file that defines it with --config.file\n")
        let missing = try await Self.run("--config.file", "/nonexistent/b.yml", "m", "x")
        #expect(missing.status == 2 && missing.errors.contains("/nonexistent/b.yml"))
        try await Self.withModules("modules:\n  m: {prober: http, http: {enable_http3: true}}") { file in
            let output = try await Self.run("--config.file", file, "m", "x")
            #expect(output.status == 2)
            #expect(
                output.errors
                    == "tidegate: \(file):2: modules.m.http.enable_http3: not available in this version\n")
        }
        let timeout = try await Self.run("--timeout", "0", "http_2xx", "x")
        #expect(timeout.status == 2 && timeout.errors.contains("--timeout"))
    }
}
