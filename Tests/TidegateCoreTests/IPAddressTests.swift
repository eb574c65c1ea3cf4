import Testing
import TidegateCore

@Suite struct IPAddressTests {
    @Test(
        "An address prints in its canonical form",
        arguments: [
            ("10.0.0.1", "10.0.0.1"), ("255.255.255.255", "255.255.255.255"), ("0.0.0.0", "0.0.0.0"), ("::", "::"),
            ("::1", "::1"), ("2001:DB8::1", "2001:db8::1"), ("2001:db8:0:0:1:0:0:1", "2001:db8::1:0:0:1"),
            ("2001:0db8:0000:0001:0001:0001:0001:0001", "2001:db8:0:1:1:1:1:1"), ("fe80::1%2", "fe80::1%2"),
            ("::ffff:192.0.2.1", "192.0.2.1"), ("::FFFF:c000:201", "192.0.2.1"), ("::ffff:0:0", "0.0.0.0"),
            ("::ffff:0:c000:201", "::ffff:0:c000:201"), ("::192.0.2.1", "::c000:201"),
            ("64:ff9b::192.0.2.33", "64:ff9b::c000:221"), ("1::", "1::"),
            ("1:2:3:4:5:6:7::", "1:2:3:4:5:6:7:0"),
        ])
    func canonicalText(_ text: String, _ canonical: String) throws {
        let address = try #require(IPAddress(text))
        #expect(address.description == canonical)
        #expect(IPAddress(canonical) == address)
    }

    @Test(
        "Text that is no address is refused",
        arguments: [
            "", "1", "1.2.3", "1.2.3.4.5", "256.1.1.1", "01.2.3.4", "1.2.3.+4", "1.2.3.4%1", ":", ":::", "1::2::3",
            "12345::", "g::1", "1:2:3:4:5:6:7:8:9", "1:2:3:4:5:6:7", "1:2:3:4:5:6:7::8:9", "::1.2.3", "1.2.3.4::",
            "fe80::1%eth0", "fe80::1%", "::1%1%2", "api.example.com", "::+1",
        ])
    func refused(_ text: String) {
        #expect(IPAddress(text) == nil)
    }

    @Test("Octets come back as they went in")
    func octets() throws {
        #expect(try #require(IPAddress(octets: [192, 0, 2, 7])).description == "192.0.2.7")
        let six: [UInt8] = [0x20, 1, 0x0d, 0xb8] + Array(repeating: 0, count: 11) + [9]
        let address = try #require(IPAddress(octets: six))
        #expect(address.description == "2001:db8::9")
        #expect(address.octets == six)
        #expect(IPAddress(octets: [1, 2, 3]) == nil)
        let mapped: [UInt8] = Array(repeating: 0, count: 10) + [255, 255, 192, 0, 2, 7]
        #expect(IPAddress(octets: mapped, zone: 3) == IPAddress("192.0.2.7"))
        #expect(IPAddress(ipv6: 0, 0xFFFF_C000_0207).octets == [192, 0, 2, 7])
    }

    @Test(
        "A network contains addresses of its family, in every form that they are written in",
        arguments: [
            ("10.0.0.0/8", "::ffff:10.1.2.3", true), ("::ffff:10.0.0.0/104", "10.1.2.3", true),
            ("::ffff:a00:0/104", "11.0.0.1", false), ("::ffff:10.1.2.3", "10.1.2.3", true),
            ("2001:db8::/32", "2001:0DB8:0:0::1", true), ("::/0", "10.1.2.3", false), ("0.0.0.0/0", "::1", false),
        ])
    func networks(_ network: String, _ address: String, _ isInside: Bool) throws {
        #expect(try IPPrefix(parsing: network).contains(#require(IPAddress(address))) == isInside)
    }

    @Test(
        "A length that the family does not have is refused", arguments: ["10.0.0.0/33", "::ffff:10.0.0.0/95", "::/129"])
    func badLength(_ text: String) {
        #expect(throws: TextError.self) { try IPPrefix(parsing: text) }
    }

    @Test("Kinds of addresses are judged by prefix")
    func kinds() throws {
        func kinds(_ text: String) throws -> [Bool] {
            let address = try #require(IPAddress(text))
            return [
                address.isLoopback, address.isLinkLocal, address.isUniqueLocal, address.isMulticast,
                address.isUnspecified,
            ]
        }
        #expect(try kinds("127.9.9.9") == [true, false, false, false, false])
        #expect(try kinds("::1") == [true, false, false, false, false])
        #expect(try kinds("169.254.3.4") == [false, true, false, false, false])
        #expect(try kinds("febf::1") == [false, true, false, false, false])
        #expect(try kinds("fec0::1") == [false, false, false, false, false])
        #expect(try kinds("fd00::1") == [false, false, true, false, false])
        #expect(try kinds("239.1.1.1") == [false, false, false, true, false])
        #expect(try kinds("ff02::1") == [false, false, false, true, false])
        #expect(try kinds("::") == [false, false, false, false, true])
        #expect(try kinds("198.51.100.1") == [false, false, false, false, false])
    }
}
