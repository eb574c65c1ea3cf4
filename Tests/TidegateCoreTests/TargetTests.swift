import Testing
import TidegateCore

@Suite struct TargetTests {
    @Test(
        "A target is a host with an optional port",
        arguments: [
            ("api.example.com", "api.example.com", nil), ("API.Example.com.:443", "api.example.com", 443),
            ("10.0.0.1:80", "10.0.0.1", 80), ("::1", "::1", nil), ("[2001:DB8::1]:8080", "2001:db8::1", 8080),
            ("[::1]", "::1", nil), ("localhost:65535", "localhost", 65535), ("_dns.example", "_dns.example", nil),
            ("0xcafe.beef", "0xcafe.beef", nil),
        ] as [(String, String, UInt16?)])
    func parses(_ text: String, _ host: String, _ port: UInt16?) throws {
        let target = try Target(text)
        #expect(target.host == host)
        #expect(target.port == port)
        #expect(try Target(target.description) == target)
    }

    @Test(
        "What is wrong is quoted",
        arguments: [
            ("", "\"\" names no host"), (":80", "\":80\" names no host"),
            ("host:0", "\"0\" in \"host:0\" is not a port from 1 to 65535"),
            ("host:65536", "\"65536\" in \"host:65536\" is not a port from 1 to 65535"),
            ("host:+1", "\"+1\" in \"host:+1\" is not a port from 1 to 65535"),
            ("[::1", "\"[::1\" opens a bracket and never closes it"),
            ("[10.0.0.1]:1", "\"10.0.0.1\" is not an IPv6 address"),
            ("[::1]x", "\"x\" after the bracket in \"[::1]x\" is not a port"),
            ("a b", "\"a b\" is not a host name"),
            ("１２７.0.0.1", "\"１２７.0.0.1\" is not an IPv4 address"),
            ("bü／cher.example", "\"bü／cher.example\" is not a host name"),
            ("ü\0.example", "\"ü\0.example\" is not a host name"),
            ("ü..example", "\"ü..example\" is not a host name"),
            ("-ü.example", "\"-ü.example\" is not a host name"),
            ("a\u{202E}b.example", "\"a\u{202E}b.example\" has characters that no host name has"),
            (
                String(repeating: "ü", count: 64),
                "\"\(String(repeating: "ü", count: 64))\" is not a host name"
            ),
            ("-a.example", "\"-a.example\" is not a host name"), ("1.2.3", "\"1.2.3\" is not an IPv4 address"),
            ("0x7F.1", "\"0x7F.1\" is not an IPv4 address"),
        ])
    func refuses(_ text: String, _ message: String) {
        let error = #expect(throws: TargetError.self) { try Target(text) }
        #expect(error?.description == message)
    }

    @Test(
        "A name with letters beyond ASCII is shown as it was typed and sent as the DNS has it",
        arguments: [
            ("bücher.example", "bücher.example", "xn--bcher-kva.example"),
            ("BÜCHER.Example.:443", "BÜCHER.Example:443", "xn--bcher-kva.example:443"),
            ("faß.example", "faß.example", "xn--fa-hia.example"),
            ("bu\u{308}cher.example", "bu\u{308}cher.example", "xn--bcher-kva.example"),
            ("例え。テスト:80", "例え。テスト:80", "xn--r8jz45g.xn--zckzah:80"),
            ("ｌｏｃａｌｈｏｓｔ", "ｌｏｃａｌｈｏｓｔ", "localhost"), ("_dns.ü.example", "_dns.ü.example", "_dns.xn--tda.example"),
            ("xn--bcher-kva.example", "xn--bcher-kva.example", "xn--bcher-kva.example"),
        ])
    func international(_ text: String, _ shown: String, _ sent: String) throws {
        let target = try Target(text)
        #expect(target.description == shown && target.encoded == sent)
        #expect(try Target(sent) == target)
        #expect(try Set([target]).contains(Target(sent)))
        #expect(try Target(target.description) == target)
    }
}
