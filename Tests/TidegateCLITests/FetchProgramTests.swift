import Foundation
import Testing
import TidegateTestKit

/// `tidegate fetch` as a process.
@Suite(.timeLimit(.minutes(5)))
struct FetchProgramTests {
    private static let tidegate = BuiltProduct.path(of: "tidegate")

    private func shell(_ script: String, _ arguments: String...) async throws -> Program.Output {
        try await Program.run(["bash", "-c", script, Self.tidegate] + arguments)
    }

    /// A folder that is removed with its object.
    private final class Folder {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString).path

        init() throws { try FileManager.default.createDirectory(atPath: self.path, withIntermediateDirectories: true) }

        deinit { try? FileManager.default.removeItem(atPath: self.path) }
    }

    @Test("Ctrl-C keeps what has come, says how to go on, and that command does")
    func interrupt() async throws {
        let latch = Latch()
        let server = try LiveServer { request in
            let whole = LiveServerAnswer.pattern(300_000, for: request)
            guard request.number == 1 else { return whole }
            return LiveServerAnswer([whole.steps[0], .pattern(from: 0, count: 100_000), .waitFor(latch)])
        }
        defer { server.stop() }
        let folder = try Folder()
        let fetch = try Program([Self.tidegate, "fetch", server.url("/big.iso"), "-o", "\(folder.path)/big.iso"])
        let part = "\(folder.path)/.big.iso.tidegate"
        let hasPart = await eventually {
            (try? FileManager.default.attributesOfItem(atPath: part)[.size] as? Int) == 100_000
        }
        #expect(hasPart)
        fetch.signal(SIGINT)
        let end = await fetch.finish()
        #expect(end.status == 130)
        let command = "tidegate fetch --continue \(server.url("/big.iso")) -o \(folder.path)/big.iso"
        #expect(
            end.errors
                == "big.iso: started\nbig.iso: cancelled; 97.6 KiB kept\ntidegate: continue with: \(command)\n")
        latch.open()
        let again = try await self.shell(
            command.replacing("tidegate fetch", with: "\"$0\" fetch", maxReplacements: 1))
        #expect(again.status == 0, "\(again)")
        let done = /big.iso: started\nbig.iso: resuming at 33 %\nbig.iso: done: 292.9 KiB, 195.3 KiB of it now, in .*\n/
        #expect(again.errors.wholeMatch(of: done) != nil, "\(again.errors)")
        #expect(server.requests.last?.rangeStart == 100_000)
        let size = try FileManager.default.attributesOfItem(atPath: "\(folder.path)/big.iso")[.size] as? Int
        #expect(size == 300_000)
    }

    @Test("With --validators a file that has not changed is kept, and says so; a damaged entry is named")
    func validators() async throws {
        let server = try LiveServer { request in
            request.field("if-none-match") == "\"1\""
                ? LiveServerAnswer([.send(LiveServerAnswer.head(304, []))]) : .respond(200, ["ETag: \"1\""], text: "x")
        }
        defer { server.stop() }
        let folder = try Folder()
        let store = "\(folder.path)/v"
        let fetch = [
            Self.tidegate, "fetch", "--validators", store, "-o", "\(folder.path)/f", "--write-out", "json",
            server.url("/f"),
        ]
        let first = try await Program.run(fetch)
        #expect(first.status == 0 && first.output.contains("\"notModified\":false"), "\(first)")
        let second = try await Program.run(fetch)
        #expect(second.status == 0 && second.output.contains("\"notModified\":true"), "\(second)")
        // A transfer that has ended before its start is printed has its last line only.
        #expect(second.errors.split(separator: "\n").last == "f: not modified", "\(second.errors)")
        let name = try #require(FileManager.default.subpaths(atPath: store)?.first { $0.hasSuffix(".json") })
        try "junk".write(toFile: "\(store)/\(name)", atomically: true, encoding: .utf8)
        let third = try await Program.run(fetch + ["--progress=none"])
        #expect(third.status == 0 && third.output.contains("\"notModified\":false"), "\(third)")
        #expect(third.errors == "tidegate: \(store)/\(name) is damaged; the response is requested again\n")
        let bad = try await Program.run([
            Self.tidegate, "fetch", "--validators", "\(folder.path)/f", "--discard", server.url("/f"),
        ])
        #expect(bad.status == 2 && bad.errors.contains("--validators: \(folder.path)/f is not a directory"), "\(bad)")
    }

    @Test("-J takes the name of the response, -R its time; a file that is there stays")
    func headerName() async throws {
        let fields = [
            "Content-Disposition: attachment; filename*=UTF-8''..%2Fr%C3%A9sum%C3%A9.pdf",
            "Last-Modified: Tue, 01 Jan 2019 00:00:00 GMT",
        ]
        let server = try LiveServer { _ in .respond(200, fields, text: "x") }
        defer { server.stop() }
        let folder = try Folder()
        let script = """
            cd "$1" && "$0" fetch -OJR "$2"; echo $?; stat -c '%n %Y' *
            "$0" fetch -qOJ "$2"; echo $?; "$0" fetch -qJ --create-dirs --output-dir a/b "$2"; ls a/b
            """
        let output = try await self.shell(script, folder.path, server.url("/download?id=7"))
        #expect(output.output == "0\nrésumé.pdf 1546300800\n1\nrésumé.pdf\n", "\(output)")
        #expect(output.errors.contains(" (résumé.pdf): done: 1 B"), "\(output)")
        #expect(output.errors.contains("résumé.pdf exists already; remove it, or use -o"), "\(output)")
    }

    @Test("-o keeps the bytes of a name that is not UTF-8")
    func foreignName() async throws {
        let server = try LiveServer { _ in .respond(text: "body") }
        defer { server.stop() }
        let folder = try Folder()
        let script = #"""
            cd "$1"; "$0" fetch -q -o $'caf\xe9' "$2"; "$0" fetch -q --output=$'\xff' "$2"; "$0" fetch -qO --output-dir . "$2"
            LC_ALL=C ls -Ab; cat $'caf\xe9' $'\xff'; rm $'caf\xe9' $'\xff'
            """#
        let output = try await self.shell(script, folder.path, server.url("/é"))
        #expect(output.output == "caf\\351\n\\303\\251\n\\377\nbodybody" && output.errors == "", "\(output)")
    }

    @Test("-T sends a pipe while it is read, once, and says so if the server asks for another time")
    func pipedUpload() async throws {
        let server = try LiveServer { $0.path == "/503" ? .respond(503) : .respond(text: "ok") }
        defer { server.stop() }
        let script = """
            bytes() { head -c 3000000 /dev/zero; }
            bytes | "$0" fetch -q -T - "$1"; bytes | "$0" fetch -q -T /dev/stdin "$1"
            "$0" fetch -q -T <(bytes) "$1"; "$0" fetch -q -T - "$1" < /dev/null
            bytes | "$0" fetch -q -X POST -T - "$1"; bytes | "$0" fetch -q -T - "$1"503
            """
        let output = try await self.shell(script, server.url("/"))
        #expect(output.status == 1 && output.output == String(repeating: "ok", count: 5), "\(output)")
        #expect(output.errors.hasSuffix(", and the body, which is read once, cannot be sent again\n"), "\(output)")
        let whole = [UInt8](repeating: 0, count: 3_000_000)
        #expect(server.requests.map { $0.body == whole } == [true, true, true, false, true, true])
        #expect(server.requests.map(\.method) == ["PUT", "PUT", "PUT", "PUT", "POST", "PUT"])
    }

    @Test("--continue takes another program's part with a digest only, and fetches no complete file again")
    func otherPart() async throws {
        let server = try LiveServer { .pattern(400_000, for: $0) }
        defer { server.stop() }
        let folder = try Folder()
        let script = """
            cd "$1"; "$0" fetch -q -o whole "$2"; sum=$(sha256sum < whole | cut -c 1-64)
            head -c 150000 whole > f; "$0" fetch -q --continue --sha256 $sum -o f "$2"; cmp f whole
            head -c 150000 whole > f; "$0" fetch --continue -o f "$2"; cmp f whole
            "$0" fetch --continue -o f "$2"; ls -A
            """
        let output = try await self.shell(script, folder.path, server.url("/f"))
        #expect(output.output == "f\nwhole\n", "\(output)")
        #expect(output.errors.contains("f: restarting: 146.4 KiB could not be resumed\n"), "\(output)")
        #expect(output.errors.hasSuffix("f: already complete, 390.6 KiB\n"), "\(output)")
        #expect(server.requests.map(\.rangeStart) == [nil, 150_000, 150_000, nil, 400_000])
    }

    @Test("With -J a response names its file by Content-Disposition alone, and a redirect does not")
    func redirectedName() async throws {
        let server = try LiveServer {
            $0.path == "/report" ? .respond(302, ["Location: /Makefile"]) : .respond(text: "ok")
        }
        defer { server.stop() }
        let folder = try Folder()
        let output = try await self.shell(
            #"cd "$1"; "$0" fetch -q -OJ "$2"; ls -A"#, folder.path, server.url("/report"))
        #expect(output.output == "report\n", "\(output)")
    }

    @Test("A body larger than --max-filesize fails in one sentence, and leaves nothing")
    func maxFilesize() async throws {
        let server = try LiveServer { _ in .respond(200, body: [UInt8](repeating: 0, count: 2000)) }
        defer { server.stop() }
        let folder = try Folder()
        let url = server.url("/x")
        let output = try await self.shell(
            "\"$0\" fetch -q --max-filesize 1k \"$1\" -o \"$2\"", url, "\(folder.path)/x")
        #expect(output.status == 1)
        #expect(
            output.errors
                == "tidegate: x: failed: the body of 2000 bytes is larger than the limit of 1024 (this host)\n")
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).isEmpty)
        let named = try await self.shell("\"$0\" fetch -q --max-filesize 1k --discard \"$1\"", url)
        #expect(named.errors.contains("\(url): failed: the body of 2000 bytes is larger than the limit of 1024"))
        let wrong = try await self.shell("\"$0\" fetch -q --max-filesize 0 \"$1\"", url)
        #expect(wrong.status == 2)
        #expect(wrong.errors.contains("--max-filesize: must be greater than 0"))
    }

    @Test("A reader that has seen enough ends the command quietly, as SIGPIPE does")
    func head() async throws {
        let server = try LiveServer { .pattern(4_000_000, for: $0) }
        defer { server.stop() }
        let output = try await self.shell(
            "\"$0\" fetch -q \"$1\" | head -c 10 >/dev/null; exit ${PIPESTATUS[0]}", server.url("/x"))
        #expect(output.status == 141 && output.errors.isEmpty, "\(output)")
    }

    @Test("A binary body is not poured on a terminal unless -o - insists")
    func terminal() async throws {
        let server = try LiveServer { request in
            request.path == "/text" ? .respond(text: "tide\n") : .respond(body: [0x7F, 0x45, 0, 1, 2, 3])
        }
        defer { server.stop() }
        func onTerminal(_ arguments: String) async throws -> Program.Output {
            try await self.shell("script -qec \"$0 fetch $1\" /dev/null </dev/null", arguments)
        }
        let binary = try await onTerminal(server.url("/binary"))
        #expect(binary.status == 1, "\(binary)")
        #expect(
            binary.output == "tidegate: the body is binary and was not written to the terminal; save it with -o FILE, "
                + "or use -o - to print it anyway\r\n")
        let insisted = try await onTerminal("-o - \(server.url("/binary"))")
        #expect(insisted.status == 0 && insisted.output.utf8.contains(0), "\(insisted)")
        let text = try await onTerminal(server.url("/text"))
        #expect(text.status == 0 && text.output == "tide\r\n", "\(text)")
    }

    @Test("A line that is no URL is named with its file and number, and the others are transferred")
    func badLine() async throws {
        let server = try LiveServer { .respond(text: $0.path) }
        defer { server.stop() }
        let folder = try Folder()
        let list = "\(folder.path)/urls.txt"
        try "\(server.url("/1"))\n\nftp://a/x\n\(server.url("/2"))\n".write(
            toFile: list, atomically: true, encoding: .utf8)
        let output = try await Program.run([Self.tidegate, "fetch", "-q", "--discard", "--input-file", list])
        #expect(output.status == 1)
        #expect(
            output.errors == "tidegate: \(list):3: \"ftp://a/x\" is not an http:// or https:// URL\n"
                + "tidegate: 1 of 3 transfers failed\n")
        #expect(server.requests.map(\.path).sorted() == ["/1", "/2"])
        let one = try await Program.run([Self.tidegate, "fetch", "--input-file", list])
        #expect(one.status == 2 && one.errors.contains("several URLs require -O"), "\(one)")
    }

    @Test("URLs from a pipe are transferred as they come")
    func streamed() async throws {
        let server = try LiveServer { .respond(text: $0.path) }
        defer { server.stop() }
        let output = try await self.shell(
            "(echo \"$1\"; until [ -e \"$2\" ]; do sleep 0.05; done) | \"$0\" fetch -q --input-file - --discard "
                + "--write-out json > \"$2.out\" & until [ -s \"$2.out\" ]; do sleep 0.05; done; touch \"$2\"; wait $!",
            server.url("/1"), try Folder().path + "-end")
        #expect(output.status == 0, "\(output)")
        #expect(server.requests.map(\.path) == ["/1"])
    }

    @Test("A failure is printed once, with its URL once, on every display", arguments: ["-q", "--progress=plain"])
    func once(_ progress: String) async throws {
        let server = try LiveServer { _ in .respond(404, text: "") }
        defer { server.stop() }
        let output = try await Program.run([Self.tidegate, "fetch", progress, "--discard", server.url("/x")])
        #expect(output.status == 1)
        let lines = output.errors.split(separator: "\n").filter { $0.contains("404") }
        #expect(lines.count == 1 && lines[0].components(separatedBy: "/x").count == 2, "\(output)")
        #expect(lines.first?.hasSuffix("/x: 404 Not Found: check the URL") == true, "\(output)")
    }

    @Test("fetch holds a body to its SHA-256, and says which it had")
    func digest() async throws {
        let server = try LiveServer { .respond(text: $0.path) }
        defer { server.stop() }
        let file = "/tmp/tidegate-sha-\(UUID().uuidString.prefix(8))"
        defer { try? FileManager.default.removeItem(atPath: file) }
        let sum = "1ab895a0fe23ed7237b69d1f45dcf0148df94de8f18f9a0f9a9a4d7f3c6e3b53"
        let fetch = [Self.tidegate, "fetch", server.url("/abc"), "-o", file, "--write-out", "json"]
        let wrong = try await Program.run(fetch + ["--sha256", sum])
        #expect(wrong.status == 1 && wrong.output.contains("\"reason\":\"digestMismatch\""), "\(wrong)")
        #expect(!FileManager.default.fileExists(atPath: file))
        let had = try #require(
            wrong.output.firstRange(of: "\"sha256\":\"").map { wrong.output[$0.upperBound...].prefix(64) })
        let good = try await Program.run(fetch + ["--sha256", had.uppercased()])
        #expect(good.status == 0 && good.output.contains("\"sha256\":\"\(had)\""), "\(good)")
        let bad = try await Program.run(fetch + ["--sha256", "zz"])
        #expect(bad.status == 2 && bad.errors.contains("--sha256: \"zz\" is not a SHA-256"), "\(bad)")
    }

    @Test(
        "A secret of -u is not among the arguments that all users can read",
        arguments: [
            ["-u", "me:hunter2"], ["--user", "me:hunter2"], ["--user=me:hunter2"], ["-ume:hunter2"],
            ["-qu", "me:hunter2"], ["-u=me:hunter2"],
        ])
    func erased(_ options: [String]) async throws {
        let latch = Latch()
        let server = try LiveServer { _ in
            LiveServerAnswer([.waitFor(latch)] + LiveServerAnswer.respond(text: "x").steps)
        }
        defer { server.stop() }
        let fetch = try Program([Self.tidegate, "fetch", "--discard"] + options + [server.url("/x")])
        defer { fetch.signal(SIGKILL) }
        #expect(await eventually { server.requests.count == 1 })
        let arguments = FileManager.default.contents(atPath: "/proc/\(fetch.id)/cmdline") ?? Data()
        let text = String(decoding: arguments, as: UTF8.self)
        #expect(text.contains("fetch") && text.contains("/x") && !text.contains("hunter2"), "\(text.debugDescription)")
        latch.open()
        #expect(await fetch.finish().status == 0)
        #expect(server.requests.first?.field("authorization") == "Basic bWU6aHVudGVyMg==")
    }

    @Test("Header fields come from a file")
    func headerFile() async throws {
        let server = try LiveServer { .respond(text: $0.path) }
        defer { server.stop() }
        let folder = try Folder()
        try "X-Key: s3cret\n\nX-More: 1\n".write(toFile: "\(folder.path)/h", atomically: true, encoding: .utf8)
        let output = try await Program.run([
            Self.tidegate, "fetch", "--discard", "-H", "@\(folder.path)/h", server.url("/x"),
        ])
        #expect(output.status == 0, "\(output)")
        #expect(server.requests.first?.field("x-key") == "s3cret")
        #expect(server.requests.first?.field("x-more") == "1")
        let none = try await Program.run([Self.tidegate, "fetch", "-H", "@/nowhere/h", server.url("/x")])
        #expect(none.status == 2 && none.errors.contains("-H: /nowhere/h: cannot be read"), "\(none)")
    }

    @Test("fetch may open as many files as the system allows, and a command of run as many as this process")
    func descriptors() async throws {
        let latch = Latch()
        let server = try LiveServer { _ in
            LiveServerAnswer([.waitFor(latch)] + LiveServerAnswer.respond(text: "x").steps)
        }
        defer { server.stop() }
        let script = "ulimit -Sn 200; ulimit -Hn 900; exec \"$0\" \"$@\""
        let fetch = try Program(["bash", "-c", script, Self.tidegate, "fetch", "--discard", server.url("/x")])
        defer { fetch.signal(SIGKILL) }
        #expect(await eventually { server.requests.count == 1 })
        let limits = FileManager.default.contents(atPath: "/proc/\(fetch.id)/limits") ?? Data()
        let line = String(decoding: limits, as: UTF8.self).split(separator: "\n").first {
            $0.hasPrefix("Max open files")
        }
        #expect(line?.split(separator: " ").dropFirst(3).first == "900", "\(line ?? "")")
        latch.open()
        #expect(await fetch.finish().status == 0)
        for command in ["run", "wait"] {
            let child = try await Program.run([
                "bash", "-c", script, Self.tidegate, command, "--for", "host:127.0.0.1", "--", "bash", "-c",
                "ulimit -Sn",
            ])
            #expect(child.output == "200\n", "\(child)")
        }
    }
}
