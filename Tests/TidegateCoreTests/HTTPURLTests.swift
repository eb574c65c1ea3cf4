import Testing
import TidegateCore

@Suite struct HTTPURLTests {
    @Test(
        "A URL is requested without user information and fragment, and shown without its query",
        arguments: [
            ("http://h.test", "http://h.test/", "http://h.test/"),
            ("HTTP://H.Test:80/a?b=c#d", "http://h.test/a?b=c", "http://h.test/a"),
            ("https://u:p@h.test:8443/", "https://h.test:8443/", "https://h.test:8443/"),
            ("http://[::1]:8080/x", "http://[::1]:8080/x", "http://[::1]:8080/x"),
            ("http://h.test?q", "http://h.test/?q", "http://h.test/"),
            ("http://h.test/\u{e4}", "http://h.test/%C3%A4", "http://h.test/%C3%A4"),
        ])
    func texts(_ row: (String, String, String)) throws {
        let url = try HTTPURL(row.0)
        #expect(url.text == row.1)
        #expect(url.textWithoutQuery == row.2)
    }

    @Test("The port is that of the scheme if the URL names none, and belongs to the origin")
    func origins() throws {
        let url = try HTTPURL("https://a.test/x")
        #expect(url.target.port == 443 && url.origin.description == "https://a.test:443")
        #expect(try url.origin == HTTPURL("https://A.test:443/y?z").origin)
        #expect(try url.origin != HTTPURL("http://a.test:443/").origin)
        #expect(try url.origin != HTTPURL("https://b.test/").origin)
        #expect(try HTTPURL("http://[fe80::1%2]:81/x").description == "http://[fe80::1]:81/x")
    }

    @Test(
        "A zone is decoded (RFC 6874) unless only the written one exists",
        arguments: [
            ("%25eth0", 2), ("%eth0", 2), ("%25eth0%2E7", 3), ("%eth0.7", 3), ("%2525wan", 4), ("%25wan", 4),
            ("%25wan9", nil), ("%25", nil), ("%wan9", nil),
        ])
    func zones(_ zone: String, _ index: UInt32?) throws {
        let known: [String: UInt32] = ["eth0": 2, "eth0.7": 3, "25wan": 4]
        let url = try? HTTPURL("http://[fe80::1\(zone)]:81/x") { known[$0] }
        #expect(try url?.target == index.map { try Target("[fe80::1%\($0)]:81") })
    }

    @Test("A zone is looked up among this host's interfaces unless it is a number")
    func ownZones() throws {
        let index = try #require(Target.index(ofZone: "lo"))
        #expect(try HTTPURL("http://[fe80::1%25lo]/").target == HTTPURL("http://[fe80::1%\(index)]/").target)
        #expect(try Target("fe80::1%lo") == Target("fe80::1%\(index)"))
        #expect(Target.index(ofZone: "7") == 7 && Target.index(ofZone: "0") == nil)
        let error = #expect(throws: HTTPURLError.self) { try HTTPURL("http://[fe80::1%25nosuch]/") }
        #expect(error?.description.hasSuffix("the zone \"nosuch\" in \"[fe80::1%nosuch]\" names no interface") == true)
    }

    @Test("A name with letters beyond ASCII is requested in its encoded form, and shown as it was typed")
    func international() throws {
        let url = try HTTPURL("http://Bücher.example:81/ä?ö#x")
        #expect(url.text == "http://xn--bcher-kva.example:81/%C3%A4?%C3%B6")
        #expect(url.textWithoutQuery == "http://Bücher.example:81/%C3%A4")
        #expect(url.description == "http://Bücher.example:81/%C3%A4?%C3%B6")
        #expect(url.origin.authority == "xn--bcher-kva.example:81")
        #expect(try url.origin == HTTPURL("http://xn--bcher-kva.example:81/").origin)
        #expect(try url.resolving("/y").text == "http://xn--bcher-kva.example:81/y")
        #expect(try HTTPURL("https://bücher.example/").origin.authority == "xn--bcher-kva.example")
        let near = try HTTPURL("http://Bücher.example:81/z", near: url)
        #expect(near.origin === url.origin && near.text == "http://xn--bcher-kva.example:81/z")
    }

    @Test("Credentials in a URL are decoded")
    func credentials() throws {
        let credentials = try HTTPURL("http://me%40home:a%3Ab:c@h.test/").credentials
        #expect(credentials == Credentials(user: "me@home", password: "a:b:c"))
        #expect(try HTTPURL("http://me@h.test/").credentials == Credentials(user: "me", password: ""))
        #expect(try HTTPURL("http://h.test/").credentials == nil)
    }

    @Test("What is wrong with a URL is named")
    func errors() {
        #expect(throws: HTTPURLError.scheme("tide")) { try HTTPURL("tide") }
        #expect(throws: HTTPURLError.scheme("ftp://h.test/")) { try HTTPURL("ftp://h.test/") }
        #expect(throws: HTTPURLError.character("http://h.test/a b")) { try HTTPURL("http://h.test/a b") }
        #expect(throws: HTTPURLError.target(.noHost(""), in: "http://")) { try HTTPURL("http://") }
        #expect(throws: HTTPURLError.target(.badPort("99999", of: "a:99999"), in: "http://a:99999/")) {
            try HTTPURL("http://a:99999/")
        }
    }

    @Test(
        "A URL resolved against another one is parsed like the URL alone",
        arguments: [
            "http://a.example:81/", "http://a.example:81/x?y#z", "http://a.example:81?y", "http://a.example:81",
            "http://a.example:811/x", "http://a.example/x", "http://a.example:81#x", "https://a.example:81/x",
            "http://A.example:81/x", "http://u:p@a.example:81/x", "http://a.example:81/\u{e4}",
            "http://a.example:81/ x",
            "http://b.example:81/x", "ftp://a.example:81/x", "",
        ])
    func near(_ text: String) throws {
        for other in ["http://a.example:81/p/q?r", "http://a.example:81/", "http://u@a.example:81/x", "http://[::1]/"] {
            let base = try HTTPURL(other)
            do throws(HTTPURLError) {
                let (near, alone) = (try HTTPURL(text, near: base), try HTTPURL(text))
                #expect(near.text == alone.text && near.textWithoutQuery == alone.textWithoutQuery)
                #expect(near.origin == alone.origin && near.userInfo == alone.userInfo)
                #expect(near.path == alone.path && near.query == alone.query)
            } catch {
                #expect(throws: error) { try HTTPURL(text) }
            }
        }
    }
}

struct SecretsTests {
    @Test(
        "Segments of a path that look like tokens are secrets; words, numbers and file names are none",
        arguments: [
            ("https://hooks.test/services/T00A11B22/B00C11D22/x8Kd02LmQp93ZtYw7Rb1", "REDACTED"),
            ("https://bot.test/bot123456789:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw/send", "REDACTED/send"),
            ("https://app.test/verify/eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.dBjftJeZ4CVPmB92K27uhbUJU1p1r", "REDACTED"),
            ("https://a.test/b/x8Kd02LmQp93ZtYw7Rb1%3D%3D/c", "REDACTED/c"),
            ("https://hc.test/ping/1b4e28ba-2fa1-11d2-883f-0016d3cca427", "REDACTED"),
            ("https://files.test/releases/2024-11-27/long-name-of-a-page-number-7", "long-name-of-a-page-number-7"),
            (
                "https://files.test/internationalization/debian-13.1.0-amd64-netinst.iso",
                "debian-13.1.0-amd64-netinst.iso"
            ),
            ("https://files.test/api/v1/users/12345678901234567890", "12345678901234567890"),
        ])
    func path(_ url: String, _ end: String) { #expect(Secrets.path(url).hasSuffix("/\(end)")) }

    @Test(
        "Fields are secret by their names",
        arguments: ["X-Access-Key", "X-Auth-Token", "Authorization", "X-Vault-Token"])
    func secretField(_ name: String) { #expect(Secrets.isField(name)) }

    @Test(
        "Challenges, authors and keys of repeated requests are not",
        arguments: ["WWW-Authenticate", "Author", "Idempotency-Key"])
    func openField(_ name: String) { #expect(!Secrets.isField(name)) }

    @Test("A target without a scheme loses the same")
    func target() {
        #expect(Secrets.target("u:p@h:1/x?a=b") == "h:1/x?a=REDACTED")
        #expect(Secrets.target("http://u:p@h/?b") == "http://h/?REDACTED")
        #expect(Secrets.target("h:53") == "h:53")
    }
}
