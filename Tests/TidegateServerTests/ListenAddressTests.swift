import Testing
import TidegateCore

@testable import TidegateServer

@Suite struct ListenAddressTests {
    @Test(
        "Addresses are parsed",
        arguments: [
            ("127.0.0.1:9843", "127.0.0.1", 9843), ("[::1]:0", "::1", 0), ("localhost:80", "localhost", 80),
            ("0.0.0.0:65535", "0.0.0.0", 65535), (":9100", "::", 9100),
        ])
    func good(_ text: String, _ host: String, _ port: Int) throws {
        let address = try ListenAddress(text)
        #expect(address.host == host)
        #expect(address.port == port)
        if !text.hasPrefix(":") { #expect(address.description == text) }
    }

    @Test(
        "The error of an invalid address quotes it",
        arguments: [
            "", "9843", "localhost", "localhost:", "localhost:http", "localhost:65536", "::1:80", "[::1]",
            "[1.2.3.4]:1",
            "a b:1", "localhost:-1", "localhost:+1", "[::1:80", "256.1.1.1:80",
        ])
    func bad(_ text: String) {
        let error = #expect(throws: TextError.self) { try ListenAddress(text) }
        #expect(error?.description == "\"\(text)\" is not an address to listen on: HOST:PORT, [IPV6]:PORT or :PORT")
    }

    @Test("Dates have HTTP's format")
    func dates() {
        #expect(HTTPDate.text(WallTime(microseconds: 1_795_216_462_123_000)) == "Fri, 20 Nov 2026 23:14:22 GMT")
        #expect(HTTPDate.text(WallTime(microseconds: 0)) == "Thu, 01 Jan 1970 00:00:00 GMT")
        #expect(HTTPDate.text(WallTime(microseconds: 951_782_400_000_000)) == "Tue, 29 Feb 2000 00:00:00 GMT")
    }
}
