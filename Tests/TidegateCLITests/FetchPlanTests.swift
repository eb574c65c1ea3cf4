internal import HTTPTypes
import ArgumentParser
import Glibc
import Testing
import Tidegate
import TidegateDaemon

@testable import TidegateCLI

@Suite struct FetchPlanTests {
    private func plan(_ words: String...) throws -> FetchPlan {
        let options = try FetchOptions.parse(words)
        return try FetchPlan(options, urls: options.urls)
    }

    private func complaint(_ words: [String]) -> String {
        do {
            let options = try FetchOptions.parse(words)
            _ = try FetchPlan(options, urls: options.urls)
            return ""
        } catch {
            return FetchOptions.message(for: error)
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
        #expect(throws: TextError("\"\(url)\" does not end in a file name: use -o to name the file")) {
            try FileNaming.name(for: url)
        }
    }

    @Test(
        "A name that would leave the directory is refused",
        arguments: ["http://a/%2e%2e", "http://a/..", "http://a/x%2Fy", "http://a/%00", "http://a/a%0Ab"])
    func dangerousNames(_ url: String) {
        #expect(throws: TextError("the last part of \"\(url)\" cannot name a file: use -o to name it")) {
            try FileNaming.name(for: url)
        }
    }

    @Test("Two URLs do not meet in one file")
    func collision() {
        #expect(throws: TextError("\"http://a/x\" and \"http://b/x\" would both be written to x")) {
            try FileNaming.names(for: ["http://a/x", "http://b/x"])
        }
    }

    @Test("A list of URLs leaves out comments and empty lines")
    func list() {
        #expect(URLList.parse("# c\nhttp://a/1\r\n\n  http://a/2  \n#http://a/3") == ["http://a/1", "http://a/2"])
    }

    @Test("Bodies go where they were asked to go")
    func destinations() throws {
        #expect(try self.plan("http://a/x").items[0].request.destination == .descriptor(1))
        #expect(try self.plan("http://a/x").writesBody)
        #expect(try self.plan("http://a/x", "-o", "y").items[0].request.destination == .file("y"))
        let continued = try self.plan("http://a/x", "-O", "--continue")
        #expect(continued.items[0].request.destination == .file("x", continues: true))
        let several = try self.plan("http://a/x", "http://a/y", "--output-dir", "/d/")
        #expect(several.items.map(\.file) == ["/d/x", "/d/y"] && several.items.map(\.label) == ["x", "y"])
        #expect(
            try self.plan("http://u:p@a/x", "http://a/y", "--discard").items.map(\.label) == [
                "http://a/x", "http://a/y",
            ])
    }

    @Test("Devices and pipes are written into and never replaced")
    func devices() throws {
        let null = try self.plan("http://a/x", "-o", "/dev/null")
        #expect(null.items[0].request.destination == .discard && null.items[0].stream == nil && !null.writesBody)
        let output = try self.plan("http://a/x", "-o", "/dev/stdout")
        #expect(output.items[0].request.destination == .descriptor(1) && output.writesBody)
        let full = try self.plan("http://a/x", "-o", "/dev/full")
        #expect(full.items[0].stream == "/dev/full" && full.items[0].file == nil)
        let pipe = "/tmp/tidegate-plan-\(getpid())"
        #expect(mkfifo(pipe, 0o600) == 0)
        defer { unlink(pipe) }
        #expect(try self.plan("http://a/x", "-o", pipe).items[0].stream == pipe)
        #expect(self.complaint(["http://a/x", "-o", pipe, "--continue"]) == "--continue needs a file: add -o or -O")
        #expect(DestinationCheck.problem(writing: pipe) == "\(pipe) is not a regular file")
        #expect(DestinationCheck.problem(writing: "/dev/full") == "/dev/full is not a regular file")
    }

    @Test("Options reach the request")
    func request() throws {
        let plan = try self.plan(
            "http://a/x", "-H", "X-A: 1", "--json-body", "{}", "-u", "me:se:cret", "--limit-rate", "2M", "--max-time",
            "5m", "--connect-timeout", "3s", "--max-redirs", "0", "--http2", "--compressed", "--parallel", "2",
            "--retry", "0", "--wait", "inf", "--require", "unmetered", "--require", "interface:eth0")
        let request = plan.items[0].request
        #expect(request.method == "POST" && request.body == .data(Array("{}".utf8)))
        #expect(
            request.headers == [
                try HTTPField("X-A", "1"), try HTTPField("Content-Type", "application/json"),
                try HTTPField("Accept", "application/json"),
            ])
        #expect(request.credentials == Credentials(user: "me", password: "se:cret"))
        #expect(request.bytesPerSecondLimit == 2 << 20 && request.deadline == .seconds(300))
        #expect(request.connectTimeout == .seconds(3) && request.maxRedirects == 0)
        #expect(request.usesHTTP2 && request.acceptsCompression)
        #expect(plan.session.maxConnections == 2 && plan.session.maxConnectionsPerHost == 2)
        #expect(plan.session.retry.attempts == 1 && plan.session.gate.patience == nil)
        #expect(plan.session.gate.require == [.unmetered, .interface("eth0")])
        #expect(try self.plan("http://a/x").session.gate == GatePolicy(require: [.routed], patience: .seconds(600)))
        #expect(try self.plan("http://a/x", "--no-gate").session.gate == .open)
        #expect(try self.plan("http://a/x", "--upload-file", "f").items[0].request.method == "PUT")
        #expect(try self.plan("http://a/x", "-X", "PATCH", "--data", "a=b").items[0].request.method == "PATCH")
    }

    @Test(
        "Bad usage is one sentence that quotes what is wrong",
        arguments: [
            ([], "there is nothing to fetch: give a URL or --input-file"),
            (["ftp://a/x"], "\"ftp://a/x\" is not an http:// or https:// URL"),
            (["http://a/x", "http://a/y"], "several URLs need -O, --output-dir or --discard"),
            (["http://a/x", "-o", "f", "--discard"], "-o and --discard exclude each other"),
            (["http://a/", "-O"], "\"http://a/\" does not end in a file name: use -o to name the file"),
            (["http://a/x", "-o", "d/"], "-o: \"d/\" does not name a file"),
            (["http://a/x", "--continue"], "--continue needs a file: add -o or -O"),
            (
                ["http://a/x", "--wait", "soon"],
                "--wait: \"soon\" is not a duration: write one like 500ms, 10s, 2m, 1h or inf"
            ),
            (["http://a/x", "--max-time", "0"], "--max-time: 0 leaves no time; write inf for no limit"),
            (
                ["http://a/x", "--limit-rate", "fast"],
                "--limit-rate: \"fast\" is not a size: write one like 500, 64k, 2M or 1G"
            ),
            (
                ["http://a/x", "--require", "wifi"],
                "--require: \"wifi\" is not one of none, routed, online, unmetered, interface:NAME"
            ),
            (["http://a/x", "--require", "routed", "--no-gate"], "--no-gate and --require exclude each other"),
            (["http://a/x", "-H", "nonsense"], "-H: \"nonsense\" is not a header: write it as 'Name: value'"),
            (["http://a/x", "--data", "a", "--json-body", "b"], "--data and --json-body exclude each other"),
            (["http://a/x", "--parallel", "0"], "--parallel: 0 is not from 1 to 1000"),
            (["http://a/x", "--proxy", "socks5://p"], "--proxy: \"socks5://p\" is not an http:// or https:// URL"),
            (["http://a/x", "-u", "me"], "-u: write it as user:password"),
        ] as [([String], String)])
    func badUsage(_ words: [String], _ message: String) {
        #expect(self.complaint(words) == message)
    }
}
