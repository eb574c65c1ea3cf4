import Foundation
import Glibc
import Testing
import TidegateTestKit

/// Which files members of the control socket's group reach through a sidecar that runs as root.
@Suite(
    "Files of members of the control socket's group", .enabled(if: NetworkNamespace.isAvailable, "needs root"),
    .timeLimit(.minutes(5)))
struct ControlDirectoriesTests {
    /// A sidecar of root's with `control.directories: [ROOT/allowed]`, and a member of its socket's group.
    private final class Sidecar {
        let root = "/tmp/tidegate-members-\(UUID().uuidString.prefix(8))"
        private var program: Program?
        private var socket: String { self.file("run/control.sock") }

        init() throws {
            for name in ["allowed/sub", "outside", "home"] {
                try FileManager.default.createDirectory(
                    atPath: self.file(name), withIntermediateDirectories: true)
            }
            for name in ["allowed", "allowed/sub", "home"] { #expect(chown(self.file(name), 65_534, 65_534) == 0) }
            // As /etc/shadow: for root only.
            try self.write("secret", to: "outside/secret")
            #expect(chmod(self.file("outside/secret"), 0o600) == 0)
        }

        deinit {
            self.program?.signal(SIGKILL)
            try? FileManager.default.removeItem(atPath: self.root)
        }

        func file(_ name: String) -> String { "\(self.root)/\(name)" }
        func text(_ name: String) -> String? { try? String(contentsOfFile: self.file(name), encoding: .utf8) }
        func write(_ text: String, to name: String) throws {
            try text.write(toFile: self.file(name), atomically: false, encoding: .utf8)
        }
        func names(_ name: String) throws -> [String] {
            try FileManager.default.contentsOfDirectory(atPath: self.file(name)).sorted()
        }
        func swapForLink() throws {
            try FileManager.default.moveItem(atPath: self.file("allowed/sub"), toPath: self.file("home/sub"))
            try FileManager.default.createSymbolicLink(
                atPath: self.file("allowed/sub"), withDestinationPath: self.file("outside"))
        }

        func start(_ configuration: String? = nil) async throws {
            try self.write(configuration ?? "control: {directories: [\(self.file("allowed"))]}\n", to: "c.yml")
            let program = try Program([
                BuiltProduct.path(of: "tidegate"), "serve", "--web.listen-address", "127.0.0.1:0", "--config.file",
                self.file("c.yml"), "--state.dir", self.file("state"), "--control.socket", self.socket,
            ])
            self.program = program
            let isUp = await eventually {
                program.errorsSoFar.contains("msg=\"control socket listening\"")
            }
            try #require(isUp, "\(program.errorsSoFar)")
            #expect(chown(self.socket, 0, 65_534) == 0)
        }

        func stop(_ signal: Int32 = SIGTERM) async {
            self.program?.signal(signal)
            _ = await self.program?.finish()
        }

        private func tasks(_ arguments: [String]) -> [String] {
            [BuiltProduct.path(of: "tidegate"), "tasks"] + arguments + ["--control.socket", self.socket]
        }

        func owner(_ arguments: String...) async throws -> Program.Output {
            try await Program.run(self.tasks(arguments))
        }

        func member(_ arguments: String...) async throws -> Program.Output {
            try await Program.run(
                ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] + self.tasks(arguments))
        }

        func refusal(_ member: String, _ path: String) -> String {
            "tidegate: \"\(member)\": \(path) is not below a directory of control.directories, to which members of the "
                + "socket's group are confined\n"
        }
    }

    @Test("What a member names outside the directories is refused, and nothing is sent or written")
    func outside() async throws {
        let server = try LiveServer { .respond(text: $0.path) }
        defer { server.stop() }
        let sidecar = try Sidecar()
        try await sidecar.start()
        for path in [
            sidecar.file("outside/x"), sidecar.file("allowed/../outside/x"), sidecar.file("allowed"),
            sidecar.file("allowed-too"), "/etc/cron.d/x",
        ] {
            let output = try await sidecar.member("submit", server.url(), "-o", path)
            #expect(output.status == 1 && output.errors == sidecar.refusal("output", path), "\(output)")
        }
        for path in [sidecar.file("outside/secret"), "/etc/shadow", "/proc/self/environ", "/none"] {
            let output = try await sidecar.member("submit", server.url(), "--upload-file", path)
            #expect(output.status == 1 && output.errors == sidecar.refusal("bodyFile", path), "\(output)")
        }
        let cookies = try await sidecar.member("submit", server.url(), "--cookies")
        #expect(cookies.status == 1, "\(cookies)")
        #expect(
            cookies.errors == "tidegate: \"cookies\" is for root and the daemon's user: all tasks share them\n")
        let authority = try await sidecar.member("submit", server.url(), "--cacert", "/etc/shadow")
        #expect(authority.status == 1 && authority.errors == sidecar.refusal("caFile", "/etc/shadow"), "\(authority)")
        let answer = try await Program.expect([
            "setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "curl", "-s", "-o", "/dev/null", "-w",
            "%{http_code}", "--unix-socket", sidecar.file("run/control.sock"), "-d",
            #"{"url":"\#(server.url())","output":"/etc/x"}"#, "http://localhost/api/v1/tasks",
        ])
        #expect(answer == "403")
        #expect(try await sidecar.owner("list").output == "no tasks\n")
        #expect(server.requests.isEmpty)
        #expect(try sidecar.names("outside") == ["secret"] && sidecar.names("allowed") == ["sub"])
        await sidecar.stop()
    }

    @Test("Without directories a member may name no file, and bodies in memory are all the same kept")
    func noDirectories() async throws {
        let server = try LiveServer { .respond(text: $0.path) }
        defer { server.stop() }
        let sidecar = try Sidecar()
        try await sidecar.start("journal: {keep_completed: 1h}\n")
        let path = sidecar.file("allowed/x")
        let refused = try await sidecar.member("submit", server.url(), "-o", path)
        #expect(refused.status == 1 && refused.errors == sidecar.refusal("output", path), "\(refused)")
        #expect(try await sidecar.member("submit", server.url("/kept"), "--key", "k").status == 0)
        #expect(try await sidecar.member("wait", "k").status == 0)
        #expect(try await sidecar.member("get", "k").output == "/kept")
        #expect(try await sidecar.member("get", "k", "-o", sidecar.file("home/copy")).status == 0)
        #expect(sidecar.text("home/copy") == "/kept")
        await sidecar.stop()
    }

    @Test("Below the directories a member's task reads and writes, and the file is copied with the member's rights")
    func below() async throws {
        let count: Int64 = 64 << 20
        let server = try LiveServer { $0.path == "/big" ? .pattern(count, for: $0) : .respond(text: $0.path) }
        defer { server.stop() }
        let sidecar = try Sidecar()
        try await sidecar.start()
        let path = sidecar.file("allowed/sub/big")
        #expect(try await sidecar.member("submit", server.url("/big"), "-o", path, "--key", "k").status == 0)
        #expect(try await sidecar.member("wait", "k").status == 0)
        let copy = sidecar.file("home/copy")
        let got = try await sidecar.member("get", "k", "-o", copy)
        #expect(got.status == 0 && got.output.isEmpty && got.errors.isEmpty, "\(got)")
        try await Program.expect(["cmp", path, copy])
        let attributes = try FileManager.default.attributesOfItem(atPath: copy)
        #expect(attributes[.ownerAccountID] as? Int == 65_534 && attributes[.size] as? Int64 == count)
        #expect(try sidecar.names("home") == ["copy"])
        let unwritable = try await sidecar.member("get", "k", "-o", sidecar.file("outside/copy"))
        #expect(
            unwritable.status == 1
                && unwritable.errors
                    == "tidegate: -o: the directory \(sidecar.file("outside")) cannot be written: Permission denied\n",
            "\(unwritable)")

        try sidecar.write("public", to: "allowed/body")
        let body = sidecar.file("allowed/body")
        #expect(try await sidecar.member("submit", server.url("/up"), "--upload-file", body, "--key", "u").status == 0)
        #expect(try await sidecar.member("wait", "u").status == 0)
        #expect(
            server.requests.filter { $0.path == "/up" }.map { String(decoding: $0.body, as: UTF8.self) } == ["public"])

        try sidecar.write("other", to: "allowed/sub/big")
        let changed = try await sidecar.member("get", "k", "-o", copy)
        #expect(changed.status == 1 && changed.errors.hasSuffix("\(path) changed after the task had written it\n"))
        #expect(unlink(path) == 0)
        let gone = try await sidecar.member("get", "k", "-o", copy)
        #expect(gone.status == 1 && gone.errors.hasSuffix("\(path): stat: No such file or directory\n"), "\(gone)")
        try await Program.expect(["test", "-s", copy])
        #expect(try sidecar.names("home") == ["copy"])
        await sidecar.stop()
    }

    @Test("A link below the directories leads a member's task nowhere, when it is submitted or while it runs")
    func links() async throws {
        let latch = Latch()
        let server = try LiveServer { request in
            LiveServerAnswer([.waitFor(latch)] + LiveServerAnswer.respond(text: request.path).steps)
        }
        defer { server.stop() }
        defer { latch.open() }
        let sidecar = try Sidecar()
        try await sidecar.start()
        try FileManager.default.createSymbolicLink(
            atPath: sidecar.file("allowed/link"), withDestinationPath: sidecar.file("outside"))
        let written = try await sidecar.member("submit", server.url(), "-o", sidecar.file("allowed/link/x"))
        #expect(written.status == 1 && written.errors.contains("allowed/link is not a directory"), "\(written)")
        let read = try await sidecar.member(
            "submit", server.url(), "--upload-file", sidecar.file("allowed/link/secret"))
        #expect(read.status == 1 && read.errors.contains("symbolic links"), "\(read)")

        let path = sidecar.file("allowed/sub/secret")
        #expect(try await sidecar.member("submit", server.url("/a"), "-o", path, "--key", "k").status == 0)
        #expect(await eventually { server.requests.count == 1 })
        #expect(
            try await sidecar.member("submit", server.url("/b"), "-o", path, "--key", "later", "--suspended").status
                == 0)
        try sidecar.swapForLink()
        latch.open()
        #expect(try await sidecar.member("wait", "k").status == 1)
        // Another process has only the journal.
        await sidecar.stop(SIGKILL)
        try await sidecar.start()
        #expect(try await sidecar.member("resume", "later").status == 0)
        #expect(try await sidecar.member("wait", "later").status == 1)
        #expect(try sidecar.names("outside") == ["secret"] && sidecar.text("outside/secret") == "secret")
        #expect(server.requests.map { $0.path } == ["/a"])
        await sidecar.stop()
    }

    @Test(
        "Root's tasks and those of the configuration use any file, also after a restart, and are copied for root only")
    func owner() async throws {
        let server = try LiveServer { .respond(text: $0.path) }
        defer { server.stop() }
        let sidecar = try Sidecar()
        let configuration = """
            control: {directories: [\(sidecar.file("allowed"))]}
            tasks: [{name: conf, url: "\(server.url("/conf"))", every: 1h, download: \(sidecar.file("outside/conf"))}]

            """
        try await sidecar.start(configuration)
        #expect(await eventually { sidecar.text("outside/conf") == "/conf" })
        let path = sidecar.file("outside/root")
        #expect(
            try await sidecar.owner("submit", server.url("/root"), "-o", path, "--key", "k", "--suspended").status == 0)
        await sidecar.stop(SIGKILL)
        try await sidecar.start(configuration)
        #expect(try await sidecar.owner("resume", "k").status == 0)
        #expect(try await sidecar.owner("wait", "k").status == 0)
        #expect(sidecar.text("outside/root") == "/root")
        for (task, file, text) in [("k", path, "/root"), ("conf", sidecar.file("outside/conf"), "/conf")] {
            let isDone = try await eventually { try await sidecar.owner("get", task).output == text }
            #expect(isDone, "\(task)")
            let refused = try await sidecar.member("get", task)
            #expect(
                refused.status == 1 && refused.output.isEmpty
                    && refused.errors.contains("the file \(file) is for root and the daemon's user: the task "),
                "\(refused)")
        }
        await sidecar.stop()
    }
}
