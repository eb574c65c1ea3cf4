import Foundation
import Testing
import TidegateTestKit

/// `tidegate probe --check` as a program.
@Suite(.timeLimit(.minutes(5))) struct ProbeCheckTests {
    private static func run(_ arguments: String...) async throws -> Program.Output {
        try await Program.run([BuiltProduct.path(of: "tidegate"), "probe"] + arguments)
    }

    private static func check(_ text: String, _ options: String...) async throws -> (Program.Output, file: String) {
        // Short, so that no line with it is wrapped.
        let file = URL(filePath: "/tmp/check-\(UUID().uuidString.prefix(8)).yml")
        try text.write(to: file, atomically: true, encoding: .utf8)
        defer { try? FileManager.default.removeItem(at: file) }
        let output = try await Program.run(
            [BuiltProduct.path(of: "tidegate"), "probe", "--check", file.path] + options)
        return (output, file.path)
    }

    private static let differing = """
        modules:
          post:
            prober: http
            http:
              compression: gzip
              enable_http3: true
        """

    @Test("Each difference has its place, both sides and a line with the number; the status is 1")
    func text() async throws {
        let (output, file) = try await Self.check(Self.differing)
        #expect(output.status == 1 && output.errors.isEmpty)
        #expect(
            output.output == """
                \(file):5: modules.post.http.compression: Accept-Encoding with "compression"
                    blackbox_exporter: only from "headers"
                    Tidegate: the compression, unless "headers" have one
                \(file):6: modules.post.http.enable_http3: "enable_http3" of "http"
                    blackbox_exporter: HTTP/3 if it is true
                    Tidegate: refused: not available in this version
                2 keys behave differently

                """)
        let (one, _) = try await Self.check("modules: {m: {prober: icmp}}")
        #expect(one.status == 1 && one.output.hasSuffix("\n1 key behaves differently\n"))
    }

    @Test("A line has 100 columns at most")
    func columns() async throws {
        let (output, _) = try await Self.check(
            "modules: {m: {prober: http, http: {preferred_ip_protocol: ip4, fail_if_body_json_matches_cel: body.a}}}")
        let lines = output.output.split(separator: "\n")
        #expect(lines.count > 10 && lines.allSatisfy { $0.count <= 100 }, "\(output)")
    }

    @Test("A file without differences is one sentence and the status 0")
    func same() async throws {
        let (output, file) = try await Self.check("modules: {m: {prober: http, http: {method: POST}}}")
        #expect(output.status == 0 && output.errors.isEmpty && output.output == "\(file) behaves the same here\n")
    }

    @Test("-q prints nothing and --json one object; both keep the status")
    func formats() async throws {
        let (quiet, _) = try await Self.check(Self.differing, "-q")
        #expect(quiet.status == 1 && quiet.output.isEmpty && quiet.errors.isEmpty)
        let (output, file) = try await Self.check(Self.differing, "--json")
        let object = try JSONSerialization.jsonObject(with: Data(output.output.utf8)) as? [String: Any]
        let differences = object?["differences"] as? [[String: Any]] ?? []
        #expect(output.status == 1 && object?["schema"] as? Int == 1 && differences.count == 2)
        let first = try #require(differences.first)
        #expect(first["file"] as? String == file && first["line"] as? Int == 5)
        #expect(first["key"] as? String == "modules.post.http.compression")
        #expect(first["message"] as? String == "Accept-Encoding with \"compression\"")
        #expect(first["blackbox_exporter"] as? String == "only from \"headers\"")
        #expect(first["tidegate"] as? String == "the compression, unless \"headers\" have one")
        let (same, _) = try await Self.check("modules: {}", "--json")
        #expect(same.status == 0 && same.output == "{\"schema\":1,\"differences\":[]}\n")
    }

    @Test("A file that cannot be read, or is not YAML, is status 2 with its name")
    func unreadable() async throws {
        let missing = try await Self.run("--check", "/nonexistent/b.yml")
        #expect(missing.status == 2 && missing.output.isEmpty)
        #expect(missing.errors == "tidegate: /nonexistent/b.yml: cannot be read: No such file or directory\n")
        let (broken, file) = try await Self.check("modules: [")
        #expect(broken.status == 2 && broken.output.isEmpty)
        #expect(broken.errors.hasPrefix("tidegate: \(file):") && broken.errors.contains("invalid YAML"), "\(broken)")
    }

    @Test("--check takes no module and no target; without it both are needed")
    func usage() async throws {
        let excluded = "tidegate: --check takes no module, target, --config.file, --debug or --verbose\n"
        for arguments in [["http_2xx"], ["http_2xx", "http://127.0.0.1/"], ["--config.file", "b.yml"], ["--debug"]] {
            let output = try await Program.run(
                [BuiltProduct.path(of: "tidegate"), "probe", "--check", "b.yml"] + arguments)
            #expect(output.status == 2 && output.errors == excluded, "\(output)")
        }
        let needed = "tidegate: a module and a target are required, or --check FILE\n"
        for output in [try await Self.run(), try await Self.run("http_2xx")] {
            #expect(output.status == 2 && output.errors == needed, "\(output)")
        }
        let json = try await Self.run("--json", "http_2xx", "http://127.0.0.1/")
        #expect(json.status == 2 && json.errors == "tidegate: --json requires --check\n")
    }
}
