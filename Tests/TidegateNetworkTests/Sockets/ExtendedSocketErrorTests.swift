internal import Testing
internal import TidegateCore

/// Control messages as the kernel writes them on a little-endian machine.
@Suite struct ExtendedSocketErrorTests {
    private static func word(_ value: UInt64, _ count: Int) -> [UInt8] {
        (0..<count).map { UInt8(truncatingIfNeeded: value >> UInt64(8 * $0)) }
    }

    private static func message(_ level: UInt64, _ type: UInt64, _ body: [UInt8]) -> [UInt8] {
        let bytes = self.word(UInt64(16 + body.count), 8) + self.word(level, 4) + self.word(type, 4) + body
        return bytes + Array(repeating: 0, count: (8 - bytes.count % 8) % 8)
    }

    private static func error(_ number: UInt64, _ origin: UInt8, _ type: UInt8, _ code: UInt8) -> [UInt8] {
        self.word(number, 4) + [origin, type, code, 0] + self.word(0, 8)
    }

    // 10.0.0.1, port 0.
    private static let offender4: [UInt8] = [2, 0, 0, 0, 10, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0]
    // 2001:db8::1 or fe80::1, with scope 77.
    private static func offender6(_ first: [UInt8]) -> [UInt8] {
        [10, 0, 0, 0, 0, 0, 0, 0] + first + Array(repeating: 0, count: 10) + [1] + self.word(77, 4)
    }

    private static let v4 = Self.message(0, 11, Self.error(101, 2, 3, 0) + Self.offender4)

    @Test("An ICMP error is read with its offender, in both versions of IP")
    func whole() throws {
        let four = try #require(ExtendedSocketError(control: Self.v4))
        #expect(four.errorNumber == 101)
        #expect(four.origin == .icmp)
        #expect(four.refusal == ICMPError(offender: IPAddress("10.0.0.1"), type: 3, code: 0))
        let body = Self.error(113, 3, 1, 3) + Self.offender6([0x20, 0x01, 0x0D, 0xB8, 0])
        let six = try #require(ExtendedSocketError(control: Self.message(41, 25, body)))
        #expect(six.refusal == ICMPError(offender: IPAddress("2001:db8::1"), type: 1, code: 3))
        let local = Self.error(113, 3, 1, 3) + Self.offender6([0xFE, 0x80, 0, 0, 0])
        #expect(
            ExtendedSocketError(control: Self.message(41, 25, local))?.refusal.offender == IPAddress("fe80::1%77"))
    }

    @Test("An error of this host has no offender")
    func own() throws {
        let body = Self.error(90, 1, 0, 0) + Array(repeating: 0, count: 16)
        let message = try #require(ExtendedSocketError(control: Self.message(0, 11, body)))
        #expect(message.origin == .local)
        #expect(message.refusal == ICMPError(offender: nil, type: 0, code: 0))
    }

    @Test("Other control messages are skipped, and alone they are no error")
    func others() {
        let other = Self.message(1, 29, Self.word(7, 4))
        #expect(ExtendedSocketError(control: other + Self.v4)?.errorNumber == 101)
        #expect(ExtendedSocketError(control: other) == nil)
        #expect(ExtendedSocketError(control: []) == nil)
        let timestamp = Self.message(0, 11, Self.error(42, 4, 0, 0) + Self.offender4)
        #expect(ExtendedSocketError(control: timestamp) == nil, "a timestamp is no error")
        #expect(ExtendedSocketError(control: timestamp + Self.v4)?.errorNumber == 101)
    }

    @Test("A truncated message is no error")
    func cut() {
        for count in 0..<Self.v4.count {
            let message = ExtendedSocketError(control: Array(Self.v4.prefix(count)))
            #expect(message == nil, "\(count) bytes")
        }
        // The message ends with its error: the offender is missing.
        let short = Self.message(0, 11, Self.error(101, 2, 3, 0))
        #expect(ExtendedSocketError(control: short)?.refusal.offender == nil)
        #expect(ExtendedSocketError(control: Self.message(0, 11, [1, 2, 3])) == nil)
    }

    @Test(
        "A message with a wrong length is no error",
        arguments: [0, 1, 15, 17, 49, 255, 1 << 31, UInt64.max, UInt64.max - 7])
    func wrongLengths(_ length: UInt64) {
        var bytes = Self.v4
        bytes.replaceSubrange(0..<8, with: Self.word(length, 8))
        #expect(ExtendedSocketError(control: bytes) == nil)
    }

    @Test("Random bytes parse without a crash")
    func noise() {
        var seed: UInt64 = 0x7469_6465
        func next() -> UInt64 {
            seed = seed &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return seed >> 33
        }
        let models = [Self.v4, Self.message(41, 25, Self.error(113, 3, 1, 3) + Self.offender6([0x20, 1, 13, 184, 0]))]
        var read = 0
        for round in 0..<40_000 {
            var bytes = models[round % 2] + (round % 3 == 0 ? models[(round + 1) % 2] : [])
            for _ in 0..<1 + Int(next() % 6) { bytes[Int(next()) % bytes.count] = UInt8(truncatingIfNeeded: next()) }
            if round % 5 == 0 { bytes.removeLast(Int(next()) % bytes.count) }
            if let message = ExtendedSocketError(control: bytes) {
                read += 1
                #expect(!message.refusal.sentence(about: nil).isEmpty)
            }
        }
        #expect(read > 10_000)
    }

    @Test(
        "The meaning of an ICMP error follows from its type and code, in both versions of IP",
        arguments: [
            ("10.0.0.1", 3, 0, ICMPError.Kind.noRoute), ("10.0.0.1", 3, 1, .hostUnreachable),
            ("10.0.0.1", 3, 3, .portUnreachable), ("10.0.0.1", 3, 9, .prohibited), ("10.0.0.1", 3, 10, .prohibited),
            ("10.0.0.1", 3, 13, .prohibited), ("10.0.0.1", 3, 4, .other), ("10.0.0.1", 11, 0, .timeExceeded),
            ("10.0.0.1", 1, 0, .other), ("2001:db8::1", 1, 0, .noRoute), ("2001:db8::1", 1, 1, .prohibited),
            ("2001:db8::1", 1, 3, .hostUnreachable), ("2001:db8::1", 1, 4, .portUnreachable),
            ("2001:db8::1", 1, 5, .prohibited), ("2001:db8::1", 1, 6, .noRoute), ("2001:db8::1", 3, 0, .timeExceeded),
        ] as [(String, UInt8, UInt8, ICMPError.Kind)])
    func meanings(_ offender: String, _ type: UInt8, _ code: UInt8, _ meaning: ICMPError.Kind) {
        let refusal = ICMPError(offender: IPAddress(offender), type: type, code: code)
        #expect(refusal.kind == meaning)
    }

    @Test("An ICMP error has a readable sentence")
    func sentence() {
        let refusal = ICMPError(offender: IPAddress("10.0.0.1"), type: 3, code: 0)
        let far = IPAddress("198.51.100.2")
        #expect(
            refusal.sentence(about: far, role: "the gateway")
                == "10.0.0.1 (the gateway) says: no route to 198.51.100.2 (ICMP 3/0)")
        let six = ICMPError(offender: IPAddress("2001:db8::1"), type: 1, code: 1)
        #expect(
            six.sentence(about: IPAddress("2001:db8:2::2"))
                == "2001:db8::1 says: administratively prohibited at 2001:db8:2::2 (ICMPv6 1/1)")
    }
}
