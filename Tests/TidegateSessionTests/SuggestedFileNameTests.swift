import Glibc
internal import HTTPTypes
import Synchronization
import Testing
import TidegateCore
import TidegateSession
import TidegateSessionTestKit

/// Destinations that are chosen when the response is here.
@Suite(.timeLimit(.minutes(5)))
struct SuggestedFileNameTests {
    /// The field's value, the path, and the name.
    struct Row: Sendable, CustomTestStringConvertible {
        let disposition: String?
        let path: String
        let name: String?

        init(_ disposition: String?, _ path: String, _ name: String?) {
            (self.disposition, self.path, self.name) = (disposition, path, name)
        }

        init(_ disposition: String, _ name: String) { self.init(disposition, "/path/file.iso", name) }

        var testDescription: String { "\(self.disposition ?? "-") \(self.path)" }
    }

    private static let rows = [
        Row(nil, "/path/file.iso", "file.iso"),
        Row(nil, "/path/file%20one.iso?x=/y", "file one.iso"),
        Row(nil, "/path/", nil),
        Row(nil, "/", nil),
        Row(nil, "/a/%2e%2e%2fpasswd", "passwd"),
        Row("attachment", "file.iso"),
        Row("attachment; filename=plain.txt", "plain.txt"),
        Row("attachment; filename=\"with \\\"quotes\\\"; and more.txt\"", "with \"quotes\"; and more.txt"),
        Row("ATTACHMENT; FileName = \"case.txt\" ; size=12", "case.txt"),
        Row("attachment; filename=\"fallback.txt\"; filename*=UTF-8''%e2%82%ac%20rates.txt", "€ rates.txt"),
        Row("attachment; filename*=utf-8'en'na%C3%AFve.txt; filename=fallback.txt", "naïve.txt"),
        // Another charset, and bytes that are no text: the plain name counts.
        Row("attachment; filename=a.txt; filename*=ISO-8859-1''%A3.txt", "a.txt"),
        Row("attachment; filename=a.txt; filename*=UTF-8''%ff%fe.txt", "a.txt"),
        // Nothing gets out of the directory, and nothing hides.
        Row("attachment; filename=\"../../etc/passwd\"", "passwd"),
        Row("attachment; filename=\"..\\\\..\\\\boot.ini\"", "boot.ini"),
        Row("attachment; filename=\"/etc/shadow\"", "shadow"),
        Row("attachment; filename*=UTF-8''..%2F..%2F.bashrc", "bashrc"),
        Row("attachment; filename*=UTF-8''%2F%E2%80%8D..%2F%E2%80%8D..%2F%E2%80%8Detc%2F%E2%80%8Dx", "x"),
        Row("attachment; filename*=UTF-8''..%2F%CC%81..%2F%CC%81etc%2F%CC%81shadow", "\u{301}shadow"),
        Row("attachment; filename*=UTF-8''%2E%CC%81ssh", "\u{301}ssh"),
        Row("attachment; filename=\".ssh\"", "ssh"),
        Row("attachment; filename=\"..\"", "file.iso"),
        Row("attachment; filename=\"\"", "file.iso"),
        Row("attachment; filename*=UTF-8''a%00b%0Ac%1B%5B31m.txt", "abc[31m.txt"),
        Row("attachment; filename*=UTF-8''cod%E2%80%AEtxt.exe", "codtxt.exe"),
        Row("attachment; filename=\"\(String(repeating: "ä", count: 200))\"", String(repeating: "ä", count: 127)),
        Row("; ; =x; filename", "file.iso"),
        Row("attachment; filename=\"open", "open"),
    ]

    @Test(
        "The name comes from Content-Disposition or the path, and is one that a file may safely have", arguments: rows)
    func names(_ row: Row) async throws {
        let fields = row.disposition.map { ["Content-Disposition: \($0)"] } ?? []
        let server = try LiveServer { _ in .respond(200, fields, text: "x") }
        defer { server.stop() }
        let fixture = try SessionFixture()
        let task = fixture.run(try TaskRequest(url: server.url(row.path)))
        _ = await task.result()
        #expect(task.response?.suggestedFileName == row.name)
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("A file that is there is kept if the request says so, and a dangling link is not followed")
    func existing() async throws {
        let scratch = try Scratch()
        let server = try LiveServer { .respond(text: String($0.path.dropFirst())) }
        defer { server.stop() }
        scratch.write([1], to: "taken")
        #expect(symlink("elsewhere", scratch.file("link")) == 0)
        let folder = scratch.path
        let fixture = try SessionFixture(
            hooks: SessionHooks(disposition: { .download(to: "\(folder)/\($1.suggestedFileName ?? "")") }))
        for name in ["taken", "link", "free"] {
            var request = try TaskRequest(url: server.url("/\(name)"))
            request.destination = .discard
            request.options.keepsExistingFile = true
            request.options.sha256 = ContentDigest(of: Array(name.utf8))
            let result = await fixture.run(request).result()
            #expect(result.outcome == (name == "free" ? .success : .failure), "\(result)")
            let problem = "\(scratch.file(name)) exists already; remove it, or use -o"
            #expect(result.explanation == (name == "free" ? nil : problem))
        }
        #expect(scratch.bytes("taken") == [1] && scratch.bytes("free") == Array("free".utf8))
        #expect(scratch.names == ["free", "link", "taken"])
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("A data task becomes a download to the name that its response suggests")
    func download() async throws {
        let scratch = try Scratch()
        let server = try LiveServer { _ in
            .respond(200, ["Content-Disposition: attachment; filename=\"../report.txt\""], text: "the report")
        }
        defer { server.stop() }
        let folder = scratch.path
        let hooks = SessionHooks(disposition: { _, response in
            response.suggestedFileName.map { .download(to: "\(folder)/\($0)") } ?? .cancel
        })
        let fixture = try SessionFixture(hooks: hooks)
        let task = fixture.run(try TaskRequest(url: server.url("/download?id=7")))
        let result = await task.result()
        #expect(result.outcome == .success && result.file == scratch.file("report.txt"))
        #expect(scratch.bytes("report.txt") == Array("the report".utf8))
        #expect(task.body().isEmpty)
        #expect(scratch.names == ["report.txt"])
        await fixture.session.invalidate(cancellingTasks: true)
    }
}
