internal import HTTPTypes
import ArgumentParser
import Glibc
import Testing
import Tidegate
import TidegateDaemon

@testable import TidegateCLI

@Suite struct FetchPlanTests {
    /// A plan and the transfers of its arguments.
    private struct Planned {
        let plan: FetchPlan
        let items: [FetchPlan.Item]

        var session: SessionConfiguration { self.plan.session }
        var writesBody: Bool { self.plan.writesBody }
    }

    private func plan(_ arguments: String...) throws -> Planned {
        let options = try FetchCommand.parse(arguments)
        var plan = try FetchPlan(options)
        var names = FileNames()
        let items = try options.urls.map { try plan.item(for: $0, &names) }
        return Planned(plan: plan, items: items)
    }

    private func errorMessage(_ arguments: [String]) async -> String {
        do {
            let options = try FetchCommand.parse(arguments)
            var source = try FetchSource(options, try FetchPlan(options))
            try await source.readFirst()
            return ""
        } catch {
            return FetchCommand.message(for: error)
        }
    }

    @Test(
        "A file is named after the last part of the path",
        arguments: [
            ("http://a/x.iso", "x.iso"), ("http://a/d/x%20y.txt?z=/q#/f", "x y.txt"), ("http://a//b", "b"),
            ("http://u:p@a:80/c", "c"), ("http://a/%ff", "%ff"), ("http://a/100%25", "100%"), ("http://a/x%zz", "x%zz"),
        ])
    func names(_ url: String, _ name: String) throws {
        #expect(try FileNaming.name(for: url) == name)
    }

    @Test("A URL without a file name is refused", arguments: ["http://a", "http://a/", "http://a/d/", "http://a?x=/y"])
    func nameless(_ url: String) {
        #expect(throws: TextError("no file name in URL \"\(url)\"; use -o")) {
            try FileNaming.name(for: url)
        }
    }

    @Test(
        "A name that would leave the directory is refused",
        arguments: [
            "http://a/%2e%2e", "http://a/..", "http://a/x%2Fy", "http://a/%00", "http://a/a%0Ab", "http://a/%1b%5b31m",
            "http://a/a%C2%9Bb",
        ])
    func dangerousNames(_ url: String) {
        #expect(throws: TextError("the last path segment of \"\(url)\" is not a valid file name; use -o")) {
            try FileNaming.name(for: url)
        }
    }

    @Test("Two URLs with the same file name are an error, in a list as among arguments")
    func collision() throws {
        var names = FileNames()
        #expect(try names.name(for: "http://a/x") == "x")
        #expect(throws: TextError("\"http://b/x\" has the same file name as another URL, x")) {
            try names.name(for: "http://b/x")
        }
        #expect(throws: TextError("\"http://a/x\" and \"http://b/x\" have the same file name, x")) {
            try FileNaming.names(for: ["http://a/x", "http://b/x"])
        }
    }

    @Test("Bodies are written to the selected output")
    func destinations() throws {
        #expect(try self.plan("http://a/x").items[0].request.destination == .descriptor(1))
        #expect(try self.plan("http://a/x").writesBody)
        #expect(try self.plan("http://a/x", "-o", "y").items[0].request.destination == .file("y"))
        let continued = try self.plan("http://a/x", "-O", "--continue")
        #expect(continued.items[0].request.destination == .file("x", continues: true))
        let several = try self.plan("http://a/x", "http://a/y", "--output-dir", "/d/")
        #expect(
            several.items.map(\.request.destination) == [.file("/d/x"), .file("/d/y")]
                && several.items.map(\.label) == ["x", "y"])
        #expect(
            try self.plan("http://u:p@a/x", "http://a/y", "--discard").items.map(\.label) == [
                "http://a/x", "http://a/y",
            ])
    }

    private func problem(writing path: String) throws -> String? {
        var request = try TaskRequest(url: "http://a/x")
        request.destination = .file(path)
        return request.fileProblem
    }

    @Test("Devices and pipes are written to, never replaced")
    func devices() async throws {
        let null = try self.plan("http://a/x", "-o", "/dev/null")
        #expect(null.items[0].request.destination == .discard && !null.writesBody)
        for name in ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"] {
            let output = try self.plan("http://a/x", "-o", name)
            #expect(output.items[0].request.destination == .descriptor(1) && output.writesBody)
        }
        #expect(try self.plan("http://a/x", "-o", "/dev/full").items[0].request.destination == .file("/dev/full"))
        let pipe = "/tmp/tidegate-plan-\(getpid())"
        #expect(mkfifo(pipe, 0o600) == 0)
        defer { unlink(pipe) }
        #expect(try self.plan("http://a/x", "-o", pipe).items[0].request.destination == .file(pipe))
        #expect(
            await self.errorMessage(["http://a/x", "-o", pipe, "--continue"])
                == "--continue requires a file; use -o or -O")
        #expect(try self.problem(writing: pipe) == nil && self.problem(writing: "/dev/full") == nil)
    }

    @Test("Options reach the request")
    func request() throws {
        let plan = try self.plan(
            "http://a/x", "-H", "X-A: 1", "--json-body", "{}", "-u", "me:se:cret", "--limit-rate", "2M", "--max-time",
            "5m", "--connect-timeout", "3s", "--max-redirs", "0", "--http2", "--compressed", "--parallel", "2",
            "--max-filesize", "3k", "--speed-limit", "50k", "--speed-time", "20",
            "--retry", "0", "--wait", "inf", "--require", "unmetered", "--require", "interface:eth0")
        let request = plan.items[0].request
        #expect(request.method == "POST" && request.body == .data(Array("{}".utf8)))
        #expect(
            request.headers == [
                try HTTPField("X-A", "1"), try HTTPField("Content-Type", "application/json"),
                try HTTPField("Accept", "application/json"),
            ])
        #expect(request.options.credentials == Credentials(user: "me", password: "se:cret"))
        #expect(request.options.bytesPerSecondLimit == 2 << 20 && request.options.deadline == .seconds(300))
        #expect(request.options.connectTimeout == .seconds(3) && request.options.maxRedirects == 0)
        #expect(request.options.maxBodyBytes == 3072)
        #expect(request.options.lowestBytesPerSecond == 51_200 && request.options.slowTime == .seconds(20))
        #expect(request.options.usesHTTP2 && request.options.acceptsCompression)
        #expect(plan.session.maxConnections == 2 && plan.session.maxConnectionsPerHost == 2)
        #expect(plan.session.retry.attempts == 1 && plan.session.gate.patience == nil)
        #expect(plan.session.gate.require == [.unmetered, .interface("eth0")])
        #expect(try self.plan("http://a/x").session.gate == GatePolicy(require: [.routed], patience: .seconds(600)))
        #expect(try self.plan("http://a/x", "--no-gate").session.gate == .open)
        #expect(try self.plan("http://a/x", "--upload-file", "f").items[0].request.method == "PUT")
        #expect(try self.plan("http://a/x", "-X", "PATCH", "--data", "a=b").items[0].request.method == "PATCH")
    }

    @Test(
        "A usage error is one line that quotes the value",
        arguments: [
            ([], "no URL specified; give one or use --input-file"),
            (
                ["http://ü\u{FFFD}/x"],
                "\"http://ü\u{FFFD}/x\" names no host that can be asked: \"ü\u{FFFD}\" has characters "
                    + "that no host name has"
            ),
            (["ftp://a/x"], "\"ftp://a/x\" is not an http:// or https:// URL"),
            (["http://a/x", "http://a/y"], "several URLs require -O, --output-dir or --discard"),
            (["http://a/x", "-o", "f", "--discard"], "-o and --discard are mutually exclusive"),
            (["http://a/", "-O"], "no file name in URL \"http://a/\"; use -o"),
            (["http://a/x", "-o", "d/"], "-o: \"d/\" is not a file name"),
            (["http://a/x", "--continue"], "--continue requires a file; use -o or -O"),
            (["http://a/x", "-J"], "--remote-header-name requires -O or --output-dir"),
            (["http://a/x", "-R", "--discard"], "--remote-time requires -o, -O or --output-dir"),
            (["http://a/x", "-OJ", "--continue"], "--continue and --remote-header-name are mutually exclusive"),
            (
                ["http://a/x", "-OJ", "--validators", "v"],
                "--validators and --remote-header-name are mutually exclusive"
            ),
            (
                ["http://a/x", "http://a/y", "--discard", "-T", "-"],
                "--upload-file: a pipe is read once, and cannot be sent to several URLs"
            ),
            (
                ["-T", "-", "--input-file", "-", "--discard"],
                "--input-file and --upload-file cannot both read standard input"
            ),
            (
                ["http://a/x", "--wait", "soon"],
                "--wait: \"soon\" is not a duration (such as 500ms, 10s, 2m, 1h or inf)"
            ),
            (["http://a/x", "--max-time", "0"], "--max-time: must be greater than 0; use inf for no limit"),
            (
                ["http://a/x", "--limit-rate", "fast"],
                "--limit-rate: \"fast\" is not a size (such as 500, 64k, 2M or 1G)"
            ),
            (["http://a/x", "--speed-limit", "0"], "--speed-limit: must be greater than 0"),
            (
                ["http://a/x", "--speed-limit", "2k", "--limit-rate", "1k"],
                "--speed-limit: 2048 bytes per second are more than --limit-rate allows"
            ),
            (
                ["http://a/x", "--require", "wifi"],
                "--require: \"wifi\" is not one of none, routed, online, unmetered, interface:NAME"
            ),
            (["http://a/x", "--require", "routed", "--no-gate"], "--no-gate and --require are mutually exclusive"),
            (["http://a/x", "-H", "nonsense"], "-H: \"nonsense\" is not a header field (expected 'Name: value')"),
            (["http://a/x", "--data", "a", "--json-body", "b"], "--data and --json-body are mutually exclusive"),
            (["http://a/x", "--parallel", "0"], "--parallel: 0 is out of range (1 to 1000)"),
            (["http://a/x", "--proxy", "socks5://p"], "--proxy: \"socks5://p\" names no port"),
            (
                ["http://a/x", "--proxy", "ftp://u:secret@p:1"],
                "--proxy: \"ftp://p:1\" is not a proxy of http, https, socks4a, socks5 or socks5h"
            ),
            (["http://a/x", "-u", "me"], "-u: expected user:password"),
        ] as [([String], String)])
    func badUsage(_ arguments: [String], _ message: String) async {
        #expect(await self.errorMessage(arguments) == message)
    }
}
