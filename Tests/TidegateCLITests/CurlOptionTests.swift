import ArgumentParser
import Testing

@testable import TidegateCLI

/// What users of curl(1) type from habit.
@Suite struct CurlOptionTests {
    @Test(
        "An option of curl is answered with what to use here",
        arguments: [
            ("fetch -k https://a/", "unknown option '-k': use --insecure, or better --cacert FILE"),
            ("fetch -L a", "unknown option '-L': redirects are followed anyway; --max-redirs 0 turns that off"),
            ("fetch https://a/ -s", "unknown option '-s': use --quiet"),
            ("fetch -Y 1000 a", "unknown option '-Y': use --speed-limit"),
            ("fetch -fsSL a", "unknown option '-f': an error status always fails"),
            ("fetch -OL a", "unknown option '-L': redirects are followed anyway; --max-redirs 0 turns that off"),
            (
                "fetch -I a",
                "unknown option '-I': use --request HEAD --write-out json; \"tidegate explain URL\" shows the status"
            ),
            ("fetch --digest -u a:b a", "unknown option '--digest': use --user"),
            ("tasks submit -d x a", "unknown option '-d': use --data"),
            ("tasks submit -b x a", "unknown option '-b': use -H 'Cookie: TEXT'"),
            ("fetch --user-agent=x a", "unknown option '--user-agent': use -H 'User-Agent: TEXT'"),
        ])
    func hints(_ line: String, _ message: String) {
        #expect(CurlOption.message(for: line.split(separator: " ").map(String.init)) == message)
    }

    @Test("Options that exist, and words after --, are left to the parser; so is what a task has no option for")
    func others() {
        for line in [
            "fetch -q -O -o f -X PUT -H a:b -u a:b https://a/", "fetch --max-time 5 --data x a", "run -- curl -k a",
            "fetch -- -k", "fetch -v -T f https://a/", "fetch -b f --cookie g a", "fetch --verbose https://a/",
            "tasks submit -k a",
            "tasks list -k", "status -k",
        ] {
            #expect(CurlOption.message(for: line.split(separator: " ").map(String.init)) == nil, "\(line)")
        }
    }

    @Test("A part of a form may stand behind -F without a space")
    func joined() {
        #expect(
            CurlOption.separated(["fetch", "-Fa=b", "-F", "c=d", "u"]) == ["fetch", "-F", "a=b", "-F", "c=d", "u"])
        #expect(
            CurlOption.separated(["tasks", "submit", "-Fa=b", "u"]) == ["tasks", "submit", "-F", "a=b", "u"])
        #expect(CurlOption.separated(["tasks", "list", "-Fa=b"]) == ["tasks", "list", "-Fa=b"])
        #expect(CurlOption.separated(["fetch", "--", "-Fa=b"]) == ["fetch", "--", "-Fa=b"])
        #expect(CurlOption.separated(["run", "-Fa=b"]) == ["run", "-Fa=b"])
    }

    @Test("No hint hides an option that fetch has")
    func conflicts() throws {
        #expect(throws: Never.self) {
            _ = try FetchCommand.parse([
                "-q", "-o", "f", "-X", "GET", "-H", "A: b", "-u", "a:b", "--data", "x", "--max-time", "5s", "--proxy",
                "http://p:1", "--compressed", "--insecure", "http://a/",
            ])
        }
        for option in ["--insecure", "--quiet", "--continue", "--data", "--json-body", "--upload-file", "--max-time"] {
            #expect(CurlOption.message(for: ["fetch", option]) == nil)
        }
    }
}
