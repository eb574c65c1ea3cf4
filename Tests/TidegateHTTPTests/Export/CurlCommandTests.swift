import Foundation
import HTTPTypes
import Testing
import TidegateCore
import TidegateHTTP
import TidegateSessionTestKit

import TidegateSession

@Suite(.timeLimit(.minutes(5)))
struct CurlCommandTests {
    private static let nasty = "it's \"$HOME\" `id` \\ !x\n&& *?[a]{b,c} ; # <>|~ é\u{1F600}"

    private static func requests(_ url: String) throws -> [TaskRequest] {
        let fields = [
            try HTTPField("X-Quote", "it's \"$HOME\" `id` \\ !x *"), try HTTPField("X-Empty", ""),
            try HTTPField("Content-Type", "text/plain; a='b'"),
        ]
        var authorized = try TaskRequest(url: url + "/a/../b?x=%27&y[]=1{2}", headers: fields)
        authorized.options.credentials = Credentials(user: "o'neil", password: "p:a$s's")
        return [
            try TaskRequest(url: url), authorized, try TaskRequest(url: url, method: "HEAD"),
            try TaskRequest(url: url, method: "DELETE"), try TaskRequest(url: url, method: "POST"),
            try TaskRequest(url: url, method: "POST", headers: fields, body: .data(Array(self.nasty.utf8))),
            try TaskRequest(url: url, method: "PUT", body: .data(Array("@/etc/passwd".utf8))),
            try TaskRequest(url: url, method: "PATCH", body: .data([0, 1, 39, 92, 37, 10, 255])),
            try TaskRequest(url: url, method: "GET", body: .data([65])),
        ]
    }

    @Test("A shell takes the line for the parts that it was made of")
    func parts() async throws {
        for request in try Self.requests("http://h:8080") {
            let command = CurlCommand(request, showingSecrets: true)
            let script = "curl() { cat >/dev/null 2>&1 </dev/null; printf '%s\\0' \"$@\"; }; \(command.line)"
            let output = try await Program.expect(["sh", "-c", "\(script) | od -An -v -tx1"])
            let bytes = output.split(whereSeparator: \.isWhitespace).compactMap { UInt8($0, radix: 16) }
            let parts = bytes.split(separator: 0, omittingEmptySubsequences: false).dropLast()
            #expect(parts.map { String(decoding: $0, as: UTF8.self) } == Array(command.arguments.dropFirst()))
        }
    }

    @Test("curl makes the request that the task made")
    func sameRequest() async throws {
        let server = try LiveServer { request in request.method == "HEAD" ? .respond() : .respond(text: "ok") }
        defer { server.stop() }
        var configuration = SessionConfiguration()
        configuration.userAgent = "same/1"
        let fixture = try SessionFixture(configuration)
        for request in try Self.requests("http://127.0.0.1:\(server.port)") {
            let task = fixture.run(request)
            #expect(await task.result().outcome == .success)
            let line = task.curlCommand(showingSecrets: true).line
            let own = line.replacingOccurrences(of: "curl ", with: "curl -q -sS -A same/1 ")
            _ = try await Program.expect(["sh", "-c", own])
            let (theirs, ours) = (try #require(server.requests.last), try #require(server.requests.dropLast().last))
            #expect(theirs.method == ours.method && theirs.path == ours.path && theirs.body == ours.body)
            #expect(
                Set(theirs.fields.map { "\($0.name.canonicalName): \($0.value)" })
                    == Set(ours.fields.map { "\($0.name.canonicalName): \($0.value)" }), "\(line)")
        }
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("curl sends the form that the task sent; a note before the line reports a missing part")
    func form() async throws {
        let server = try LiveServer { _ in .respond(text: "ok") }
        defer { server.stop() }
        let (fixture, scratch) = (try SessionFixture(), try Scratch())
        scratch.write(Array("contents".utf8), to: "a \"b\",c.txt")
        var form = MultipartForm()
        form.append(.data(Array(Self.nasty.utf8)), name: "k \"1\"")
        form.append(.data(Array("@/etc/passwd".utf8)), name: "at")
        form.append(.data(Array("{}".utf8)), name: "j", contentType: "application/json; charset=utf-8")
        form.append(.file(scratch.file("a \"b\",c.txt")), name: "f")
        form.append(.file(scratch.file("a \"b\",c.txt")), name: "g", fileName: "é;.bin", contentType: "x/y")
        form.append(contentsOf: scratch.file("a \"b\",c.txt"), name: "text")
        let request = try TaskRequest(
            SerializedRequest(method: "POST", url: server.url("/"), body: .multipart(form)))
        let task = fixture.run(request)
        #expect(await task.result().outcome == .success)
        let line = task.curlCommand(showingSecrets: true).line
        _ = try await Program.expect(["sh", "-c", line.replacingOccurrences(of: "curl ", with: "curl -q -sS ")])
        try #require(server.requests.count == 2)
        let bodies = try server.requests.map { request in
            let type = try #require(request.field("content-type"))
            let boundary = try #require(type.split(separator: "=").last)
            return String(decoding: request.body, as: UTF8.self)
                .replacingOccurrences(of: "--\(boundary)", with: "--B")
        }
        #expect(bodies[0] == bodies[1], "\(line)")
        form.append(.stream { nil }, name: "s")
        let other = try TaskRequest(SerializedRequest(method: "POST", url: "http://h/", body: .multipart(form)))
        #expect(
            CurlCommand(other).line.hasPrefix(
                "# a part s of the form is not kept: write it to a file and add -F NAME=@FILE\ncurl -X POST -F "))
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("A file is sent from its own path; a note before the line reports what the line cannot hold")
    func otherBodies() throws {
        func line(_ body: RequestBody) throws -> String {
            CurlCommand(try TaskRequest(url: "http://h/", method: "PUT", body: body), showingSecrets: true).line
        }
        #expect(
            try line(.file("/tmp/it's"))
                == #"curl -X PUT --data-binary '@/tmp/it'\''s' -H Content-Type: --http1.1 --location --max-redirs 10 --globoff http://h/"#
        )
        #expect(try line(.stream(UploadStream { nil })).hasPrefix("# the body was a stream and is not kept: "))
        let long = try line(.data(Array(repeating: 65, count: 200_000)))
        #expect(long.hasPrefix("# the body of 195.3 KiB is too long for a command: ") && long.utf8.count < 300)
    }

    @Test("Secrets are replaced, in every case of their names, and nothing else is")
    func redaction() throws {
        var request = try TaskRequest(
            url: "https://user:pw@h/p/T0FJ3K2M9XQ8ZB71C/x?token=t1&q=2#f", method: "POST",
            headers: [
                try HTTPField("AuthoriZation", "Bearer t2"), try HTTPField("COOKIE", "a=t3"),
                try HTTPField("X-Vault-Namespace", "t6"), try HTTPField("X-Forwarded-Client-Cert", "t7"),
                try HTTPField("Accept", "text/html"), try HTTPField("referer", "http://me:t4@h/?t5"),
            ], body: .data(Array("t8".utf8)))
        request.options.maxRedirects = 0
        #expect(
            CurlCommand(request).line
                == "curl -X POST -H 'AuthoriZation: Bearer REDACTED' -H 'COOKIE: REDACTED' "
                + "-H 'X-Vault-Namespace: REDACTED' -H 'X-Forwarded-Client-Cert: REDACTED' -H 'Accept: text/html' "
                + "-H 'referer: http://h/?REDACTED' -u REDACTED:REDACTED --data-raw REDACTED -H Content-Type: --http1.1 "
                + "--globoff 'https://h/p/T0FJ3K2M9XQ8ZB71C/x?token=REDACTED&q=REDACTED'")
    }
}
