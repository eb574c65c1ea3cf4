import HTTPTypes
import Testing
import TidegateCore
import TidegateSessionTestKit

@testable import TidegateSession

/// Cookies, as RFC 6265 has them: which are kept, which are sent, and how a file has them.
@Suite(.timeLimit(.minutes(5)))
struct CookieTests {
    private static let now = WallTime(microseconds: 1_800_000_000_000_000)

    private static func sent(_ fields: [String], from url: String, to other: String) throws -> String? {
        let jar = CookieJar()
        jar.take(fields, from: try HTTPURL(url), at: self.now)
        return jar.field(for: try HTTPURL(other), at: self.now)
    }

    @Test(
        "A cookie goes where its domain, its path and its scheme allow",
        arguments: [
            ("a=1", "http://x.test/", "http://x.test/any", "a=1"),
            ("a=1", "http://x.test/", "http://www.x.test/", nil),
            ("a=1; Domain=x.test", "http://www.x.test/", "http://api.x.test/", "a=1"),
            ("a=1; Domain=.x.test", "http://www.x.test/", "http://x.test/", "a=1"),
            ("a=1; Domain=x.test", "http://www.x.test/", "http://yx.test/", nil),
            ("a=1; Domain=y.test", "http://x.test/", "http://y.test/", nil),
            ("a=1; Domain=test", "http://x.test/", "http://y.test/", nil),
            ("a=1; Domain=test", "http://x.test/", "http://x.test/", nil),
            ("a=1; Domain=0.2.7", "http://192.0.2.7/", "http://198.0.2.7/", nil),
            ("a=1", "http://192.0.2.7/", "http://192.0.2.7:81/", "a=1"),
            ("a=1", "http://x.test/a/b", "http://x.test/a/c", "a=1"),
            ("a=1", "http://x.test/a/b", "http://x.test/c", nil),
            ("a=1; Path=/a", "http://x.test/", "http://x.test/ab", nil),
            ("a=1; Path=/a", "http://x.test/", "http://x.test/a/b", "a=1"),
            ("a=1; Path=no", "http://x.test/a/b", "http://x.test/a/", "a=1"),
            ("a=1; Secure", "https://x.test/", "https://x.test/", "a=1"),
            ("a=1; Secure", "https://x.test/", "http://x.test/", nil),
            ("a=1; Secure", "http://x.test/", "https://x.test/", nil),
            ("__Secure-a=1", "https://x.test/", "https://x.test/", nil),
            ("__Host-a=1; Secure; Path=/; Domain=x.test", "https://www.x.test/", "https://www.x.test/", nil),
            ("__Host-a=1; Secure; Path=/", "https://x.test/", "https://x.test/", "__Host-a=1"),
            ("a=1; Max-Age=60", "http://x.test/", "http://x.test/", "a=1"),
            ("a=1; Max-Age=0", "http://x.test/", "http://x.test/", nil),
            ("a=1; Max-Age=-99999999999999999999", "http://x.test/", "http://x.test/", nil),
            ("a=1; Max-Age=99999999999999999999", "http://x.test/", "http://x.test/", "a=1"),
            ("a=1; Expires=Wed, 21 Oct 2015 07:28:00 GMT", "http://x.test/", "http://x.test/", nil),
            ("a=1; Expires=Wednesday, 21-Oct-99 07:28:00 GMT", "http://x.test/", "http://x.test/", nil),
            ("a=1; Expires=Wed, 21 Oct 2099 07:28:00 GMT; Max-Age=0", "http://x.test/", "http://x.test/", nil),
            ("a=1; Expires=soon", "http://x.test/", "http://x.test/", "a=1"),
            (" a = 1 2 ;;; =; x", "http://x.test/", "http://x.test/", "a=1 2"),
            ("=1", "http://x.test/", "http://x.test/", nil), ("a", "http://x.test/", "http://x.test/", nil),
            ("a=1\u{1}", "http://x.test/", "http://x.test/", nil),
            ("a=" + String(repeating: "x", count: 4096), "http://x.test/", "http://x.test/", nil),
        ])
    func rules(_ field: String, _ from: String, _ to: String, _ expected: String?) throws {
        #expect(try Self.sent([field], from: from, to: to) == expected)
    }

    @Test(
        "A cookie for a public suffix is refused, and one below it kept",
        arguments: [
            ("com", "a.com", "b.com", nil), ("co.uk", "a.co.uk", "b.co.uk", nil), (".CO.UK", "a.co.uk", "b.co.uk", nil),
            ("github.io", "a.github.io", "b.github.io", nil), ("github.io", "a.github.io", "a.github.io", nil),
            ("github.io", "github.io", "github.io", "a=1"), ("github.io", "github.io", "b.github.io", nil),
            ("example.co.uk", "a.example.co.uk", "b.example.co.uk", "a=1"),
            ("a.github.io", "x.a.github.io", "y.a.github.io", "a=1"),
            // \u{516C}\u{53F8}.cn, and a domain below it.
            ("xn--55qx5d.cn", "a.xn--55qx5d.cn", "b.xn--55qx5d.cn", nil),
            ("\u{516C}\u{53F8}.cn", "a.\u{516C}\u{53F8}.cn", "b.\u{516C}\u{53F8}.cn", nil),
            ("a.xn--55qx5d.cn", "x.a.\u{516C}\u{53F8}.cn", "y.a.xn--55qx5d.cn", "a=1"),
            // The rules *.ck and !www.ck.
            ("any.ck", "a.any.ck", "b.any.ck", nil), ("a.any.ck", "x.a.any.ck", "y.a.any.ck", "a=1"),
            ("www.ck", "a.www.ck", "b.www.ck", "a=1"),
        ])
    func publicSuffixes(_ domain: String, _ from: String, _ to: String, _ expected: String?) throws {
        let sent = try Self.sent(["a=1; Domain=\(domain)"], from: "https://\(from)/", to: "https://\(to)/")
        #expect(sent == expected)
    }

    @Test("A file's cookie for all hosts of a public suffix, or of a name without dots, is only for the host itself")
    func suffixesInFile() throws {
        let jar = CookieJar(
            netscape: """
                .co.uk\tTRUE\t/\tFALSE\t0\tall\t1
                github.io\tFALSE\t/\tFALSE\t0\town\t1
                .example.co.uk\tTRUE\t/\tFALSE\t0\tone\t1
                localhost\tTRUE\t/\tFALSE\t0\tlocal\t1
                """)
        #expect(jar.field(for: try HTTPURL("http://a.co.uk/"), at: Self.now) == nil)
        #expect(jar.field(for: try HTTPURL("http://co.uk/"), at: Self.now) == "all=1")
        #expect(jar.field(for: try HTTPURL("http://localhost/"), at: Self.now) == "local=1")
        #expect(jar.field(for: try HTTPURL("http://a.localhost/"), at: Self.now) == nil)
        #expect(jar.field(for: try HTTPURL("http://github.io/"), at: Self.now) == "own=1")
        #expect(jar.field(for: try HTTPURL("http://a.example.co.uk/"), at: Self.now) == "one=1")
        #expect(jar.count == 4)
    }

    @Test(
        "An expiry may have a fraction, be missing or be too large",
        arguments: [
            ("1900000000.742", "1900000000"), ("1000.5", nil), ("", "0"), ("0", "0"), ("0.0", "0"),
            ("9223372036854775807", "253402300799"), ("99999999999999999999", "253402300799"),
        ])
    func fileExpiry(_ text: String, _ kept: String?) throws {
        let jar = CookieJar(netscape: "x.test\tFALSE\t/\tFALSE\t\(text)\ta\tb\n")
        let sent = jar.field(for: try HTTPURL("http://x.test/"), at: Self.now)
        #expect(sent == (kept == nil ? nil : "a=b"))
        #expect(jar.netscapeText.contains("\t\(kept ?? "")\ta\tb\n") == (kept != nil))
    }

    @Test("A malformed line of a file is skipped with its number and problem; a missing last tab is an empty value")
    func skippedLines() throws {
        let text = """
            # Netscape HTTP Cookie File
            x.test FALSE / FALSE 0 a b
            x.test\tFALSE\t/\tFALSE\t-1\ta\tb
            x.test\tFALSE\tno\tFALSE\t0\ta\tb
            x.test\tFALSE\t/\tFALSE\t0\t\tb

              #HttpOnly_x.test\tFALSE\t/\tFALSE\t0\tc
            x.test\tFALSE\t/\tFALSE\t0\ta\tb; c
            """
        let jar = CookieJar()
        var skipped: [String] = []
        jar.add(netscape: text) { skipped.append("\($0): \($1)") }
        #expect(
            skipped == [
                "2: expected 7 fields, separated by tabs", "3: the expiry is not a number of seconds since 1970",
                "4: the path does not begin with a slash", "5: the domain or the name is empty",
                "8: a control character, or a semicolon in the value, is not allowed",
            ])
        #expect(jar.field(for: try HTTPURL("http://x.test/"), at: Self.now) == "c=")
    }

    @Test("Longer paths come first, then older cookies; a new value takes its place, and a past one removes it")
    func order() throws {
        let url = try HTTPURL("http://x.test/a/b")
        let jar = CookieJar()
        jar.take(["one=1; Path=/", "two=2; Path=/a", "three=3; Path=/"], from: url, at: Self.now)
        jar.take(["one=9; Path=/"], from: url, at: Self.now)
        #expect(jar.field(for: url, at: Self.now) == "two=2; one=9; three=3")
        jar.take(["two=; Path=/a; Max-Age=0"], from: url, at: Self.now)
        #expect(jar.field(for: url, at: Self.now) == "one=9; three=3")
        jar.removeAll()
        #expect(jar.field(for: url, at: Self.now) == nil)
    }

    @Test("A server cannot fill the jar")
    func bounds() throws {
        let jar = CookieJar()
        for number in 0..<60 {
            jar.take(["c\(number)=1"], from: try HTTPURL("http://x.test/"), at: Self.now)
        }
        #expect(jar.count == 50)
        #expect(jar.field(for: try HTTPURL("http://x.test/"), at: Self.now)?.hasPrefix("c10=1;") == true)
    }

    @Test("A server cannot put cookies of others into the file")
    func forged() throws {
        let jar = CookieJar()
        let rest = ".bank.example\tTRUE\t/\tTRUE\t0\tsid\tevil"
        let url = try HTTPURL("https://x.test/")
        jar.take(["a=x\u{2028}\(rest)", "b=x\u{85}.bank.example", "c=x; Path=/\tq", "d\t=1"], from: url, at: Self.now)
        #expect(jar.field(for: url, at: Self.now) == "b=x\u{85}.bank.example; d=1")
        let again = CookieJar(netscape: jar.netscapeText + "x.test\tFALSE\t/\tFALSE\t0\te\tx\u{2028}\(rest)\n")
        #expect(again.field(for: try HTTPURL("https://bank.example/"), at: Self.now) == nil)
        #expect(again.count == 2)
        #expect(
            CookieJar(netscape: "x.test\tFALSE\t/\tFALSE\t0\ta\tb\r\ny.test\tFALSE\t/\tFALSE\t0\ta\tb\r\n").count == 2)
    }

    @Test("Plain HTTP does not replace a cookie that is for https alone")
    func secure() throws {
        let (secure, plain) = (try HTTPURL("https://x.test/"), try HTTPURL("http://x.test/"))
        let jar = CookieJar()
        jar.take(["sid=1; Secure; Path=/"], from: secure, at: Self.now)
        jar.take(["sid=2; Path=/", "sid=; Path=/; Max-Age=0"], from: plain, at: Self.now)
        #expect(jar.field(for: secure, at: Self.now) == "sid=1")
    }

    @Test("A file of curl's is read, junk in it is ignored, and what is written is read again")
    func file() throws {
        let text = """
            # Netscape HTTP Cookie File
            x.test\tFALSE\t/\tFALSE\t0\tsession\t1
            #HttpOnly_.y.test\tTRUE\t/p\tTRUE\t1900000000\tkept\ta=b

            junk
            x.test\tFALSE\t/\tFALSE\tnever\tbad\t1
            x.test\tFALSE\t/\tFALSE\t-1\tbad\t1
            x.test\tFALSE\tno\tFALSE\t0\tbad\t1
            x.test\tFALSE\t/\tFALSE\t0\tbad\ta; b
            """
        let jar = CookieJar(netscape: text)
        #expect(jar.count == 2)
        #expect(jar.field(for: try HTTPURL("http://x.test/"), at: Self.now) == "session=1")
        #expect(jar.field(for: try HTTPURL("https://www.y.test/p/q"), at: Self.now) == "kept=a=b")
        #expect(jar.netscapeText.contains("#HttpOnly_.y.test\tTRUE\t/p\tTRUE\t1900000000\tkept\ta=b\n"))
        #expect(CookieJar(netscape: jar.netscapeText).netscapeText == jar.netscapeText)
    }

    @Test("Every hop sends its own cookies only, and a redirect may set one; without a jar none is kept")
    func hops() async throws {
        let other = try LiveServer { .respond(text: $0.field("cookie") ?? "none") }
        defer { other.stop() }
        let elsewhere = "http://other.test:\(other.port)/"
        let server = try LiveServer { request in
            switch request.path {
            case "/out": .respond(302, ["Location: \(elsewhere)", "Set-Cookie: out=1"])
            case "/back": .respond(302, ["Location: /", "Set-Cookie: back=1"])
            default: .respond(text: request.field("cookie") ?? "none")
            }
        }
        defer { server.stop() }
        let loopback = IPAddress(ipv4: 0x7F00_0001)
        for jar in [CookieJar(), nil] {
            let fixture = try SessionFixture(
                .with { $0.cookies = jar },
                resolver: ScriptedResolver(["one.test": [loopback], "other.test": [loopback]]))
            func body(_ path: String, own: String? = nil) async throws -> String {
                var headers: [HTTPField] = []
                if let own { headers = [try HTTPField("Cookie", own)] }
                let task = fixture.run(try TaskRequest(url: "http://one.test:\(server.port)\(path)", headers: headers))
                _ = await task.result()
                return String(decoding: task.body(), as: UTF8.self)
            }
            #expect(try await body("/out") == "none")
            #expect(try await body("/back") == (jar == nil ? "none" : "out=1; back=1"))
            #expect(try await body("/", own: "own=1") == (jar == nil ? "own=1" : "own=1; out=1; back=1"))
            await fixture.session.invalidate(cancellingTasks: true)
        }
    }
}
