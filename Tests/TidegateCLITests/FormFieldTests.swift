import Foundation
import Testing
import Tidegate
import TidegateTestKit

@testable import TidegateCLI

/// Parts of forms, as curl(1) takes them with `-F`.
@Suite(.timeLimit(.minutes(5)))
struct FormFieldTests {
    private func field(_ text: String) throws -> FormField { try FormField(parsing: text) }

    @Test(
        "Names, values, files, types and file names are told apart",
        arguments: [
            ("name=John", "name", .text("John"), nil, nil), ("a=", "a", .text(""), nil, nil),
            ("a=b=c", "a", .text("b=c"), nil, nil), ("a= b c ", "a", .text("b c"), nil, nil),
            (#"a=" b; c ""#, "a", .text(" b; c "), nil, nil),
            (#"a="say \"\\\n\"";type=x/y"#, "a", .text("say \"\\\\n\""), nil, "x/y"),
            ("a=\"open", "a", .text("\"open"), nil, nil), (#"a="@x""#, "a", .text("@x"), nil, nil),
            ("p=@a.png", "p", .file("a.png"), nil, nil),
            ("p=@a.png;type=image/png", "p", .file("a.png"), nil, "image/png"),
            ("p=@\"a,b;c\" ; filename=\"x;y\"; TYPE=a/b", "p", .file("a,b;c"), "x;y", "a/b"),
            ("p=@a;type=text/html; charset=utf-8;filename=b", "p", .file("a"), "b", "text/html; charset=utf-8"),
            ("t=<a,b.txt", "t", .contents("a,b.txt"), nil, nil), ("t=v;filename=f", "t", .text("v"), "f", nil),
        ] as [(String, String, FormField.Content, String?, String?)])
    func parts(
        _ text: String, _ name: String, _ content: FormField.Content, _ fileName: String?, _ type: String?
    ) throws {
        let field = try self.field(text)
        #expect(field.name == name && field.content == content && field.fileName == fileName)
        #expect(field.contentType == type)
    }

    @Test(
        "What is no part is refused in one sentence without the value",
        arguments: [
            ("secret", "a part of a form has no name (expected NAME=VALUE, NAME=@FILE or NAME=<FILE)"),
            ("=x", "a part of a form has no name (expected NAME=VALUE, NAME=@FILE or NAME=<FILE)"),
            ("a=@", "\"a\": there is no file after @"), ("a=<;type=x/y", "\"a\": there is no file after <"),
            ("a=x;y", "\"a\": quote a value that has a semicolon: a='\"…;…\"'"),
            ("a=\"x\"y", "\"a\": unexpected text after the closing quotation mark"),
            (
                "a=@x,y",
                "\"a\": a part has one file: repeat --form, or quote a name that has a comma"
            ),
            ("a=x;type=text", "\"a\": type: \"text\" is not a content type (such as image/png)"),
            (
                "a=x;headers=\"X: y\"",
                "\"a\": curl's \"headers=\" and \"encoder=\" are not supported; only type= and filename= are"
            ),
        ])
    func refused(_ text: String, _ message: String) {
        let error = #expect(throws: TextError.self) { try self.field(text) }
        #expect(error?.description == message)
    }

    // MARK: As the program is run

    private static let tidegate = BuiltProduct.path(of: "tidegate")

    private func withFolder(_ body: (String) async throws -> Void) async throws {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString).path
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: path) }
        try await body(path)
    }

    // The body with a boundary that is the same for all.
    private func body(_ request: LiveServerRequest) throws -> String {
        let type = try #require(request.field("content-type"))
        #expect(type.hasPrefix("multipart/form-data; boundary="))
        let boundary = type.split(separator: "=", maxSplits: 1)[1]
        let text = try #require(String(validating: request.body, as: UTF8.self))
        #expect(request.field("content-length") == "\(request.body.count)")
        return text.replacingOccurrences(of: "--\(boundary)", with: "--B")
    }

    @Test("A form is sent as curl sends it, byte for byte: files by pieces, quotes and other letters in names")
    func asCurl() async throws {
        let server = try LiveServer { _ in .respond(text: "ok") }
        defer { server.stop() }
        try await self.withFolder { folder in
            let odd = "\(folder)/we\"ird, ü;\u{1F600}.txt"
            try Data("contents\r\n".utf8).write(to: URL(fileURLWithPath: odd))
            try Data(repeating: 120, count: 200_000).write(to: URL(fileURLWithPath: "\(folder)/big.txt"))
            let quoted = odd.replacingOccurrences(of: "\"", with: "\\\"")
            let parts = [
                "name=John", "na\"me=v", "empty=", "colors=\"red; green\";type=text/x-my", "odd=@\"\(quoted)\"",
                "story=<\"\(quoted)\"", "big=@\(folder)/big.txt;filename=\"a \\\"b\\\".bin\";type=application/x-y",
                "text=plain;filename=n.txt;type=text/plain", "sub=@\(folder)/big.txt;type=text/html;charset=utf-8",
            ].flatMap { ["-F", $0] }
            let curl = try await Program.run(["curl", "-q", "-sS"] + parts + [server.url("/")])
            #expect(curl.status == 0 && curl.errors.isEmpty, "\(curl)")
            let own = try await Program.run([Self.tidegate, "fetch", "-q"] + parts + [server.url("/")])
            #expect(own.status == 0 && own.output == "ok", "\(own)")
            try #require(server.requests.count == 2)
            #expect(try self.body(server.requests[1]) == self.body(server.requests[0]))
            #expect(server.requests[1].method == "POST")
            #expect(try self.body(server.requests[1]).contains("filename=\"we%22ird, ü;\u{1F600}.txt\""))
        }
    }

    @Test("A form is sent anew after a redirect and to each of several URLs, and standard input can be a part")
    func again() async throws {
        let server = try LiveServer { request in
            request.path == "/old" ? .respond(307, ["Location: /new"]) : .respond(text: "ok")
        }
        defer { server.stop() }
        try await self.withFolder { folder in
            try Data("contents".utf8).write(to: URL(fileURLWithPath: "\(folder)/a.txt"))
            let script = #"echo piped | "$0" fetch -q --discard -X PUT -F f=@"$1"/a.txt -F 'in=<-' "$2" "$3""#
            let output = try await Program.run([
                "sh", "-c", script, Self.tidegate, folder, server.url("/old"), server.url("/two"),
            ])
            #expect(output.status == 0, "\(output)")
            #expect(server.requests.map(\.path).sorted() == ["/new", "/old", "/two"])
            for request in server.requests {
                #expect(request.method == "PUT")
                let body = try self.body(request)
                #expect(body.contains("name=\"f\"; filename=\"a.txt\"\r\nContent-Type: text/plain\r\n\r\ncontents\r\n"))
                #expect(body.contains("name=\"in\"\r\n\r\npiped\n\r\n"))
            }
        }
    }

    @Test("What cannot be sent is refused before anything is, with the flag, the part and the file")
    func badInput() async throws {
        let server = try LiveServer { _ in .respond(text: "ok") }
        defer { server.stop() }
        let url = server.url("/")
        let cases: [([String], String)] = [
            (["--form", "p=@/no/such"], "--form: \"p\": /no/such cannot be read: No such file or directory"),
            (["-F", "p=</etc"], "--form: \"p\": /etc is not a regular file"),
            (["-F", "p"], "--form: a part of a form has no name (expected NAME=VALUE, NAME=@FILE or NAME=<FILE)"),
            (["-Fp=1", "--data", "x"], "--data and --form are mutually exclusive"),
            (["-F", "p=1", "--json-body", "1"], "--json-body and --form are mutually exclusive"),
            (["-F", "p=1", "-T", "f"], "--upload-file and --form are mutually exclusive"),
            (["-F", "p=@-", "--input-file", "-"], "--input-file and --form cannot both read standard input"),
        ]
        for (arguments, message) in cases {
            let output = try await Program.run([Self.tidegate, "fetch"] + arguments + [url])
            #expect(output.status == 2 && output.errors == "tidegate: \(message)\n", "\(output)")
        }
        #expect(server.requests.isEmpty)
    }

    @Test("An archive has the parts of a form, with the files that were sent")
    func archive() async throws {
        let server = try LiveServer { _ in .respond(text: "ok") }
        defer { server.stop() }
        try await self.withFolder { folder in
            try Data("contents".utf8).write(to: URL(fileURLWithPath: "\(folder)/a.txt"))
            let output = try await Program.run([
                Self.tidegate, "fetch", "-q", "--show-secrets", "--har", "\(folder)/a.har", "-F", "k=v", "-F",
                "f=@\(folder)/a.txt",
                server.url("/"),
            ])
            #expect(output.status == 0, "\(output)")
            let text = try String(contentsOfFile: "\(folder)/a.har", encoding: .utf8)
            #expect(
                text.contains(
                    #""params":[{"name":"k","value":"v"},{"name":"f","comment":"the content was the file \#(folder)/a.txt","#
                        + #""fileName":"a.txt","contentType":"text/plain"}]"#), "\(text)")
        }
    }
}
