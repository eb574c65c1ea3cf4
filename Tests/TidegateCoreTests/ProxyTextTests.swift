import Testing
import TidegateCore

/// Proxies as texts, and what of them is shown.
@Suite struct ProxyTextTests {
    @Test(
        "libcurl gets the user and password whole, whatever they have in them",
        arguments: [
            ("http://alice:p#ss@proxy:3128", "http://alice:p%23ss@proxy:3128"),
            ("http://alice:8080#x@proxy:3128", "http://alice:8080%23x@proxy:3128"),
            ("socks5h://a:b?c@proxy:1080", "socks5h://a:b%3Fc@proxy:1080"),
            ("http://a:b%2Fc@proxy:3128", "http://a:b%2Fc@proxy:3128"), ("proxy:3128", "http://proxy:3128"),
        ])
    func credentials(text: String, expected: String) throws {
        let proxy = try Proxy(text)
        #expect(proxy.textWithCredentials == expected)
        #expect(!proxy.description.contains("@"))
    }

    @Test(
        "Errors show neither user nor password",
        arguments: [
            "http://alice:s3cret/x@proxy:3128", "http://alice:s3cret@proxy:3128/path", "ftp://alice:s3cret@proxy:21",
            "http://alice:s3cret@proxy", "http://alice:s3cret@:3128", "http://alice:s3 cret@proxy:3128",
        ])
    func errors(text: String) throws {
        let error = try #require(throws: TextError.self) { try Proxy(text) }
        #expect(!error.description.contains("alice") && !error.description.contains("cret"), "\(error)")
    }

    @Test(
        "A URL that is none is quoted without user and password",
        arguments: ["htps://u:s3cret@h/", "https://u:s3cret@bad_host!/", "http://u:s3cret@a b/"])
    func urls(text: String) throws {
        let error = try #require(throws: HTTPURLError.self) { try HTTPURL(text) }
        #expect(!error.description.contains("s3cret"), "\(error)")
    }
}

/// Words of shell commands.
@Suite struct ShellWordTests {
    @Test(
        "A quote is a quote, whatever mark follows it",
        arguments: [
            ("it's", "'it'\\''s'"), ("x'\u{301}$(id)", "'x'\\''\u{301}$(id)'"),
            ("x'\u{200D}`id`", "'x'\\''\u{200D}`id`'"),
            ("", "''"), ("plain-1", "plain-1"), ("a b", "'a b'"),
        ])
    func quoted(word: String, expected: String) {
        #expect(Array(ShellWord.quoted(word).utf8) == Array(expected.utf8))
    }
}
