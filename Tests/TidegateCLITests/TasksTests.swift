import Foundation
import Testing
import TidegateTestKit

/// `tidegate tasks` against a running daemon.
@Suite(.timeLimit(.minutes(5)))
struct TasksTests {
    @Test("Tasks are submitted once for a key, shown, rested, let go and cancelled; kill -9 loses none")
    func steer() async throws {
        let server = try LiveServer { .pattern(1000, for: $0) }
        defer { server.stop() }
        let daemon = TasksDaemon()
        try await daemon.start()
        let url = server.url("/x")
        let rests = try TasksDaemon.id(
            await daemon.tasks("submit", url, "--suspended", "--key", "k", "-o", daemon.file("x")))
        let again = try await daemon.tasks("submit", url, "--key", "k")
        #expect(try TasksDaemon.id(again) == rests)
        #expect(
            again.errors
                == "tidegate: nothing was submitted: the key \"k\" exists, and its task is suspended\n", "\(again)")
        let next = try TasksDaemon.id(await daemon.tasks("submit", url, "--key", "k", "--on-duplicate", "append"))
        #expect(next != rests)
        #expect(try await daemon.tasks("list", "-q").output == "\(rests)\n\(next)\n")
        #expect(try await daemon.tasks("show", "-q", next).output.isEmpty)
        let verbose = try await daemon.tasks("suspend", "-v", rests)
        #expect(verbose.output.contains("state     suspended\n"), "\(verbose)")
        #expect(verbose.output.contains("kept      in the journal\n"), "\(verbose)")
        let list = try await daemon.tasks("list")
        #expect(list.status == 0 && list.output.hasPrefix("ID ") && list.output.contains(" k  "), "\(list)")
        let shown = try await daemon.tasks("show", next)
        #expect(shown.output.contains("state     waiting\nreason    begins after the task \(rests)\n"), "\(shown)")

        _ = await daemon.stop(SIGKILL)
        #expect(try await daemon.tasks("list").status == 1)
        try await daemon.start()
        #expect(try await daemon.tasks("show", rests).output.contains("suspended"))
        #expect(server.requests.isEmpty)
        #expect(try await daemon.tasks("resume", rests).status == 0)
        let isDone = try await eventually { try await daemon.tasks("show", next).output.contains("done") }
        #expect(isDone)
        #expect(FileManager.default.contents(atPath: daemon.file("x"))?.count == 1000)
        #expect(server.requests.count == 2)

        let old = try TasksDaemon.id(await daemon.tasks("submit", url, "--suspended", "--key", "r"))
        let new = try TasksDaemon.id(
            await daemon.tasks("submit", url, "--suspended", "--key", "r", "--on-duplicate", "replace"))
        #expect(try await daemon.tasks("show", old, "--json").output.contains("\"outcome\":\"cancelled\""))
        let cancelled = try await daemon.tasks("cancel", new)
        #expect(cancelled.status == 0 && cancelled.output == "\(new) cancelled\n", "\(cancelled)")
        let stopped = await daemon.stop()
        #expect(stopped?.status == 0, "\(stopped?.errors ?? "")")
    }

    @Test("A journal that is removed while the daemon runs accepts nothing more, and the next start reports the loss")
    func removedJournal() async throws {
        let daemon = TasksDaemon()
        try await daemon.start()
        let url = "http://127.0.0.1:9/"
        for key in ["a", "b"] { _ = try TasksDaemon.id(await daemon.tasks("submit", url, "--suspended", "--key", key)) }
        let journal = "\(daemon.path)/state/journal.sqlite"
        try FileManager.default.removeItem(atPath: journal)
        let refused = try await daemon.tasks("submit", url, "--suspended", "--key", "c")
        #expect(refused.status == 1)
        #expect(
            refused.errors
                == "tidegate: the journal \(journal) or its write-ahead log was removed or replaced, so that a restart would "
                + "lose the task: put the file back, or restart the daemon to begin with the journal that is there\n",
            "\(refused)")
        let answer = try await Program.expect([
            "curl", "-s", "-i", "--unix-socket", daemon.socket, "-H", "Content-Type: application/json", "-d",
            #"{"url":"http://127.0.0.1:9/","suspended":true}"#, "http://localhost/api/v1/tasks",
        ])
        #expect(answer.hasPrefix("HTTP/1.1 507 "), "\(answer)")
        let log = await daemon.stop(SIGKILL)?.errors ?? ""
        #expect(log.contains("msg=\"journal write failed\"") && log.contains("reason=removed"), "\(log)")
        try await daemon.start()
        #expect(try await daemon.tasks("list").output == "no tasks\n")
        let second = await daemon.stop()?.errors ?? ""
        #expect(second.contains("msg=\"journal lost transactions\" tasks=2 transactions="), "\(second)")
        try await daemon.start()
        let third = await daemon.stop()?.errors ?? ""
        #expect(!third.contains("journal lost"), "\(third)")
    }

    @Test("Watchers hear the tasks, then what happens, until the daemon ends")
    func watch() async throws {
        let server = try LiveServer { .respond(text: $0.path) }
        defer { server.stop() }
        let daemon = TasksDaemon()
        try await daemon.start()
        let watching = try daemon.watch()
        #expect(await eventually { watching.outputSoFar.contains("\"event\":\"snapshot\"") })
        let id = try TasksDaemon.id(await daemon.tasks("submit", server.url("/w")))
        let isReported = await eventually {
            watching.outputSoFar.contains("\"event\":\"task.completed\"") && watching.outputSoFar.contains(id)
        }
        #expect(isReported, "\(watching.outputSoFar)")
        #expect(await daemon.stop()?.status == 0)
        let output = await watching.finish()
        #expect(output.status == 1 && output.errors == "tidegate: the daemon closed the connection\n", "\(output)")
    }

    @Test("tasks list --watch prints the list again when it has changed, and only then")
    func watchList() async throws {
        let daemon = TasksDaemon()
        try await daemon.start()
        let watching = try daemon.watch(["list", "--watch"])
        try #require(await eventually { watching.outputSoFar == "no tasks\n" }, "\(watching.outputSoFar)")
        _ = try TasksDaemon.id(
            await daemon.tasks("submit", "http://127.0.0.1:9/", "--key", "rests", "--suspended", "-o", daemon.file("x"))
        )
        let isListed = await eventually { watching.outputSoFar.contains("rests") }
        #expect(isListed, "\(watching.outputSoFar)")
        _ = try await daemon.tasks("cancel", "rests")
        #expect(await eventually { watching.outputSoFar.contains("cancelled") }, "\(watching.outputSoFar)")
        let heads = watching.outputSoFar.split(separator: "\n").filter { $0.hasPrefix("ID ") }
        #expect(heads.count == 2, "\(watching.outputSoFar)")
        #expect(await daemon.stop()?.status == 0)
        let output = await watching.finish()
        #expect(output.status == 1 && output.errors.contains("no daemon is listening"), "\(output)")
    }

    @Test("A task is conditional, compressed, has cookies and goes through a proxy if it says so, and only then")
    func options() async throws {
        let server = try LiveServer { request in
            request.field("if-none-match") == nil
                ? .respond(200, ["ETag: \"1\"", "Set-Cookie: sid=7"], text: "body") : .respond(304, ["ETag: \"1\""])
        }
        defer { server.stop() }
        let daemon = TasksDaemon()
        try await daemon.start()
        func submit(_ url: String, _ arguments: String...) async throws -> LiveServerRequest {
            let id = try TasksDaemon.id(try await daemon.tasks(list: ["submit", url] + arguments))
            let end = try await daemon.tasks("wait", id)
            #expect(end.status == 0, "\(end)")
            return try #require(server.requests.last)
        }
        let file = daemon.file("config")
        #expect(try await submit(server.url("/a"), "-o", file, "--conditional").field("if-none-match") == nil)
        #expect(try await submit(server.url("/a"), "-o", file, "--conditional").field("if-none-match") == "\"1\"")
        #expect(try String(contentsOfFile: file, encoding: .utf8) == "body")
        #expect(try await submit(server.url("/a"), "-o", file).field("if-none-match") == nil)
        #expect(try await submit(server.url("/b"), "--cookies").field("cookie") == nil)
        #expect(try await submit(server.url("/b"), "--cookies").field("cookie") == "sid=7")
        #expect(try await submit(server.url("/b")).field("cookie") == nil)
        #expect(try await submit(server.url("/c")).field("accept-encoding") == nil)
        #expect(try await submit(server.url("/c"), "--compressed").field("accept-encoding")?.contains("gzip") == true)
        try Data("contents".utf8).write(to: URL(fileURLWithPath: file))
        let form = try await submit(server.url("/f"), "--form", "a=b", "-F", "c=@\(file)")
        #expect(
            form.method == "POST" && form.field("content-type")?.hasPrefix("multipart/form-data; boundary=") == true)
        let body = String(decoding: form.body, as: UTF8.self)
        #expect(body.contains("name=\"a\"\r\n\r\nb\r\n") && body.contains("\r\n\r\ncontents\r\n"))
        let proxied = try await submit("http://127.0.0.2:9/d", "--proxy", server.url())
        #expect(proxied.path == "http://127.0.0.2:9/d")
        let refused = try await daemon.tasks(
            "submit", server.url(), "--cacert", "\(daemon.path)/none.pem", "--pin", "x")
        #expect(refused.status == 2 && refused.errors.hasPrefix("tidegate: --pin: "), "\(refused)")
        _ = await daemon.stop()
    }

    @Test("What cannot be done ends with the right code and one sentence, and nothing is kept")
    func refusals() async throws {
        let daemon = TasksDaemon()
        let nobody = try await daemon.tasks("list")
        #expect(nobody.status == 1)
        #expect(
            nobody.errors == "tidegate: no daemon is listening on the control socket \(daemon.socket); start one with "
                + "\"tidegate serve\"\n")
        try await daemon.start()
        let several = try await daemon.tasks("suspend", "nope", "nothing")
        #expect(several.status == 1)
        #expect(
            several.errors == "tidegate: no such task: \"nope\"\ntidegate: no such task: \"nothing\"\n", "\(several)")
        let unknown = "00000000-0000-7000-8000-000000000000"
        for arguments in [["show", unknown], ["cancel", unknown], ["suspend", unknown], ["resume", "x"]] {
            let output = try await daemon.tasks(arguments[0], arguments[1])
            #expect(output.status == 1 && output.errors == "tidegate: no such task: \(output.named(arguments[1]))\n")
        }
        let newline = try await daemon.tasks("submit", "http://127.0.0.1:9/", "-H", "X-A: a\nX-B: b")
        #expect(newline.status == 2 && newline.errors.contains("contains a control character"), "\(newline)")
        for url in ["http//x", "ftp://127.0.0.1/", "http://"] {
            let output = try await daemon.tasks("submit", url)
            #expect(output.status == 2 && output.errors.hasPrefix("tidegate: "), "\(output)")
        }
        let vanished = try await daemon.tasks("submit", "http://127.0.0.1:9/", "--upload-file", daemon.file("none"))
        #expect(vanished.status == 1 && vanished.errors.contains(daemon.file("none")), "\(vanished)")
        let folder = try await daemon.tasks("submit", "http://127.0.0.1:9/", "-o", daemon.path)
        #expect(folder.status == 1 && folder.errors.contains("is a directory"), "\(folder)")
        let digest = try await daemon.tasks("submit", "http://127.0.0.1:9/", "--sha256", "12")
        #expect(digest.status == 2 && digest.errors.contains("64 hexadecimal digits"), "\(digest)")
        #expect(try await daemon.tasks("list").output == "no tasks\n")
        let second = try await Program.run([
            BuiltProduct.path(of: "tidegate"), "serve", "--web.listen-address", "127.0.0.1:0", "--state.dir",
            daemon.file("state"), "--control.socket", daemon.file("other.sock"),
        ])
        #expect(second.status == 1)
        #expect(second.errors.contains("uses the state directory \(daemon.file("state"))"), "\(second.errors)")
        #expect(await daemon.stop()?.status == 0)
        #expect(!FileManager.default.fileExists(atPath: daemon.socket))
    }

    @Test("Tasks are named by key or the beginning of an id, all of several are tried, and wait says how they ended")
    func references() async throws {
        let server = try LiveServer { request in
            request.path == "/500" ? .respond(500, text: "sorry") : .respond(text: "hello")
        }
        defer { server.stop() }
        let daemon = TasksDaemon()
        try await daemon.start()
        let good = try await daemon.tasks("submit", server.url("/a"), "--key", "good")
        let hint = "without -o the first 64 KiB of the body are kept: tidegate tasks show good --body\n"
        #expect(good.errors == hint, "\(good)")
        _ = try TasksDaemon.id(await daemon.tasks("submit", server.url("/500"), "--key", "bad", "--retry", "0"))
        let rests = try TasksDaemon.id(
            await daemon.tasks("submit", server.url("/b"), "--key", "rests", "--suspended", "-o", daemon.file("b")))

        let waited = try await daemon.tasks("wait", "good")
        #expect(waited.status == 0 && waited.output.contains(" done "), "\(waited)")
        let failed = try await daemon.tasks("wait", "good", "bad")
        #expect(failed.status == 1, "\(failed)")
        #expect(failed.output.hasSuffix(": server returned an error status (500) (the server)\n"), "\(failed)")
        let late = try await daemon.tasks("wait", "rests", "--timeout", "0")
        #expect(late.status == 75 && late.errors == "tidegate: not over yet: \(rests) suspended\n", "\(late)")
        #expect(try await daemon.tasks("wait", "rests", "nope", "--timeout", "0").status == 1)

        #expect(try await daemon.tasks("show", "good", "--body").output == "hello")
        let refused = try await daemon.tasks("show", "bad", "--body")
        #expect(refused.status == 0 && refused.output == "sorry", "\(refused)")
        let unfinished = try await daemon.tasks("show", "rests", "--body")
        #expect(unfinished.status == 1 && unfinished.errors.contains("is not over; its body is kept once it is"))
        let again = try await daemon.tasks("submit", server.url("/500"), "--key", "bad")
        #expect(again.status == 0 && again.errors.contains("its task is over: failed "), "\(again)")
        #expect(again.errors.hasSuffix("(the server); --on-duplicate replace runs it again\n"), "\(again)")

        let rows = try await daemon.tasks("list", "--state", "suspended").output.split(separator: "\n")
        #expect(rows.count == 2 && rows[0].hasPrefix("ID ") && rows[1].contains("rests"), "\(rows)")
        let beginning = try #require(rows[1].split(separator: " ").first.map(String.init))
        let ambiguous = try await daemon.tasks("show", String(rests.prefix(4)))
        #expect(ambiguous.status == 2 && ambiguous.errors.contains("fits 3 tasks: "), "\(ambiguous)")
        let cancelled = try await daemon.tasks("cancel", "nope", String(rests.prefix(20)))
        #expect(cancelled.status == 1 && cancelled.output == "\(rests) cancelled\n", "\(cancelled)")
        #expect(cancelled.errors == "tidegate: no such task: \"nope\"\n" && rests.hasPrefix(beginning))
        #expect(await daemon.stop()?.status == 0)
    }

    @Test("tasks wait outlives a daemon that is killed, and whose the failure was is kept over the restart")
    func restart() async throws {
        let latch = Latch()
        let server = try LiveServer { request in
            request.path == "/500"
                ? .respond(500, text: "")
                : LiveServerAnswer([.waitFor(latch)] + LiveServerAnswer.respond(text: "x").steps)
        }
        defer { server.stop() }
        let daemon = TasksDaemon()
        try await daemon.start()
        _ = try TasksDaemon.id(await daemon.tasks("submit", server.url("/500"), "--key", "bad", "--retry", "0"))
        #expect(try await daemon.tasks("wait", "bad").status == 1)
        let id = try TasksDaemon.id(
            await daemon.tasks("submit", server.url("/x"), "-o", daemon.file("x"), "--key", "k"))
        // By its id: a key could only be looked up while a daemon runs.
        let waiting = try Program([
            BuiltProduct.path(of: "tidegate"), "tasks", "wait", id, "--control.socket", daemon.socket,
        ])
        #expect(await eventually { !server.requests.filter { $0.path == "/x" }.isEmpty })
        _ = await daemon.stop(SIGKILL)
        try await daemon.start()
        latch.open()
        let output = await waiting.finish()
        #expect(output.status == 0 && output.output.contains(" done "), "\(output)")
        let shown = try await daemon.tasks("show", "bad")
        #expect(shown.output.contains("whose        the server\n"), "\(shown)")
        let body = try await daemon.tasks("show", "k", "--body")
        #expect(body.status == 1 && body.errors.contains("went to the file \(daemon.file("x"))"), "\(body)")
    }

    @Test(
        "A user without a daemon learns of root's, and who may use its socket",
        .enabled(if: NetworkNamespace.isAvailable, "needs root"))
    func rootsTasksDaemon() async throws {
        let tidegate = BuiltProduct.path(of: "tidegate")
        // A /run of its own: nothing of the host's is touched.
        let script = """
            mount -t tmpfs none /run && mkdir /run/tidegate && : > /run/log || exit 9
            '\(tidegate)' serve --web.listen-address 127.0.0.1:0 --state.dir /run/state 2> /run/log & daemon=$!
            while ! grep -q 'control socket listening' /run/log; do kill -0 $daemon || exit 8; sleep 0.05; done
            as="setpriv --reuid=65534 --regid=65534 --clear-groups env -u XDG_RUNTIME_DIR"
            $as '\(tidegate)' tasks list; echo "status $?" >&2
            $as '\(tidegate)' tasks list --control.socket /run/tidegate/control.sock; echo "status $?" >&2
            chgrp 65534 /run/tidegate/control.sock
            $as '\(tidegate)' tasks list --control.socket /run/tidegate/control.sock
            kill $daemon; wait $daemon
            """
        let output = try await Program.run(["unshare", "--mount", "sh", "-c", script])
        #expect(
            output.errors == """
                tidegate: no daemon of yours is listening on /run/user/65534/tidegate/control.sock; root's daemon \
                listens on /run/tidegate/control.sock, for members of the group root: --control.socket \
                /run/tidegate/control.sock
                status 1
                tidegate: permission denied: the control socket /run/tidegate/control.sock is for root, the daemon's \
                user and members of the socket's group root
                status 1

                """)
        #expect(output.output == "no tasks\n", "\(output)")
    }
}

extension Program.Output {
    /// How a refusal names a task.
    fileprivate func named(_ id: String) -> String { self.errors.contains("\"\(id)\"") ? "\"\(id)\"" : id }
}
