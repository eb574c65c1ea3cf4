import Testing
import TidegateTestKit
import TidegateCore

@testable import TidegateNetwork

/// The kernel's messages about sockets, as bytes (sock_diag(7)).
struct SocketMessageTests {
    /// `struct inet_diag_msg` behind its header, with attributes.
    private struct Message {
        var family: UInt8 = 2
        var state: UInt8 = 7
        var type: UInt16 = 20
        var local: [UInt8] = [10, 0, 0, 2]
        var remote: [UInt8] = [198, 51, 100, 2]
        var interface: UInt32 = 0
        var attributes: [(type: UInt16, value: [UInt8])] = [(10, [6])]

        var bytes: [UInt8] {
            var body = [UInt8](repeating: 0, count: 72)
            func put<Number: FixedWidthInteger>(_ number: Number, at offset: Int) {
                withUnsafeBytes(of: number) { body.replaceSubrange(offset..<offset + $0.count, with: $0) }
            }
            (body[0], body[1], body[2], body[3]) = (self.family, self.state, 1, 4)
            put(UInt16(40_000).bigEndian, at: 4)
            put(UInt16(443).bigEndian, at: 6)
            body.replaceSubrange(8..<8 + self.local.count, with: self.local)
            body.replaceSubrange(24..<24 + self.remote.count, with: self.remote)
            put(self.interface, at: 40)
            put(UInt32(0x55667788), at: 44)
            put(UInt32(0x11223344), at: 48)
            put(UInt32(1500), at: 52)
            put(UInt32(3), at: 56)
            put(UInt32(9), at: 60)
            put(UInt32(1000), at: 64)
            put(UInt32(77), at: 68)
            for (type, value) in self.attributes {
                body += Self.pair(UInt16(value.count + 4), type) + value
                body += [UInt8](repeating: 0, count: (4 - value.count % 4) % 4)
            }
            let header = withUnsafeBytes(of: UInt32(body.count + 16)) { Array($0) } + Self.pair(self.type, 0)
            return header + [UInt8](repeating: 0, count: 8) + body
        }

        private static func pair(_ one: UInt16, _ two: UInt16) -> [UInt8] {
            withUnsafeBytes(of: one) { Array($0) } + withUnsafeBytes(of: two) { Array($0) }
        }
    }

    private static func report(_ message: Message) throws -> SocketReport {
        let messages = SocketMessageDecoder.decode(message.bytes)
        guard messages.count == 1, case .socket(let report) = messages[0] else {
            throw TextError("no report: \(messages)")
        }
        return report
    }

    /// `struct tcp_info` of a length, with a number in each field that counts.
    private static func info(_ length: Int) -> [UInt8] { (0..<length).map { UInt8(truncatingIfNeeded: $0 + 1) } }

    @Test("Every field of a report is at its place")
    func fields() throws {
        let group = withUnsafeBytes(of: UInt64(4711)) { Array($0) }
        let report = try Self.report(Message(attributes: [(10, [6]), (21, group), (2, Self.info(280))]))
        #expect(report.state == .close)
        #expect(report.timer == .retransmission)
        #expect(report.timerExpiries == 4)
        #expect(report.local == .init(address: try #require(IPAddress("10.0.0.2")), port: 40_000))
        #expect(report.remote == .init(address: try #require(IPAddress("198.51.100.2")), port: 443))
        #expect(report.cookie == 0x1122_3344_5566_7788)
        #expect(report.timeLeft == .milliseconds(1500))
        #expect(report.receiveQueue == 3)
        #expect(report.sendQueue == 9)
        #expect(report.user == 1000)
        #expect(report.inode == 77)
        #expect(report.controlGroup == 4711)
        let info = try #require(report.tcp)
        #expect(info.retransmits == 3)
        #expect(info.probes == 4)
        #expect(info.unacknowledged == 0x1C1B_1A19)
        #expect(info.acknowledgedBytes == 0x807F_7E7D_7C7B_7A79)
        #expect(info.shortestRoundTrip == 0x9897_9695)
        #expect(info.sendWindow == 0xE8E7_E6E5)
        #expect(info.receiveWindow == 0xECEB_EAE9)
        #expect(info.receiveRoundTrip == 0x605F_5E5D)
        #expect(info.sentDataSegments == 0xA09F_9E9D)
        #expect(info.earlySegments == 0xE4E3_E2E1)
        #expect(info.busy == 0xB0AF_AEAD_ACAB_AAA9)
        #expect(info.limitedByPeer == 0xB8B7_B6B5_B4B3_B2B1)
        #expect(info.limitedByBuffer == 0xC0BF_BEBD_BCBB_BAB9)
        #expect(!info.isLimitedByProgram, "bit 0 of byte 7")
    }

    @Test("A message that is cut anywhere is malformed, and nothing is read beyond its end")
    func cut() {
        let whole = Message(attributes: [(10, [6]), (2, Self.info(232))]).bytes
        for length in 1..<whole.count {
            let messages = SocketMessageDecoder.decode(Array(whole[..<length]))
            #expect(messages == [.malformed], "\(length)")
        }
        #expect(SocketMessageDecoder.decode([]).isEmpty)
    }

    @Test("A message whose length lies is malformed", arguments: [0, 15, 16, 40, 87, 200, 0xFFFF_FFFF] as [UInt32])
    func length(_ length: UInt32) {
        var bytes = Message().bytes
        withUnsafeBytes(of: length) { bytes.replaceSubrange(0..<4, with: $0) }
        let messages = SocketMessageDecoder.decode(bytes)
        #expect(messages.contains(.malformed), "\(messages)")
    }

    @Test("Of tcp_info what a kernel does not have is zero", arguments: [0, 1, 3, 4, 8, 104, 151, 152, 231, 232, 400])
    func shortInfo(_ length: Int) throws {
        let report = try Self.report(Message(attributes: [(2, Self.info(length))]))
        #expect((report.tcp == nil) == (length == 0))
        #expect(report.tcp?.retransmits ?? 0 == (length > 2 ? 3 : 0))
        #expect((report.tcp?.shortestRoundTrip != nil) == (length >= 152))
        #expect((report.tcp?.sendWindow ?? 0 != 0) == (length >= 232))
        #expect((report.tcp?.receiveWindow != nil) == (length >= 236))
        #expect((report.tcp?.busy ?? 0 != 0) == (length >= 176))
    }

    @Test("Duplicates are not lost, and a kernel that does not count them shows no loss", arguments: [227, 228])
    func lostSegments(_ length: Int) throws {
        var info = [UInt8](repeating: 0, count: length)
        info[100] = 9
        info[216] = 2
        #expect(try Self.report(Message(attributes: [(2, info)])).tcp?.lostSegments == (length == 228 ? 7 : nil))
    }

    @Test("An attribute that comes twice counts once, and one that is too short does not count")
    func attributes() throws {
        #expect(try Self.report(Message(attributes: [(10, [17]), (10, [6])])).protocolNumber == 6)
        #expect(try Self.report(Message(attributes: [(21, [1, 2, 3])])).controlGroup == nil)
        #expect(try Self.report(Message(attributes: [(999, [1, 2, 3, 4, 5])])).protocolNumber == 6)
        var bytes = Message(attributes: [(10, [6])]).bytes
        // The length of the attribute, beyond the message.
        bytes[88] = 200
        #expect(SocketMessageDecoder.decode(bytes) == [.malformed])
        bytes[88] = 3
        #expect(SocketMessageDecoder.decode(bytes) == [.malformed])
    }

    @Test("Of counters that come twice the last ones count; padding anywhere and longer attributes do no harm")
    func repeated() throws {
        let padding: (type: UInt16, value: [UInt8]) = (14, [])
        let group = withUnsafeBytes(of: UInt64(4711)) { Array($0) } + [9, 9, 9, 9]
        let report = try Self.report(
            Message(attributes: [
                padding, (2, Self.info(280)), padding, (10, []), (21, group), (2, [7, 0, 99]), padding,
            ]))
        #expect(report.tcp?.retransmits == 99)
        #expect(report.tcp?.acknowledgedBytes == 0)
        #expect(report.protocolNumber == 6)
        #expect(report.controlGroup == 4711)
        // One that says nothing does not take back what another one said.
        #expect(try Self.report(Message(attributes: [(2, Self.info(8)), (2, [])])).tcp?.retransmits == 3)
    }

    @Test("An IPv4 address that IPv6 maps is the IPv4 address, and a link-local one keeps its link")
    func addresses() throws {
        var mapped = [UInt8](repeating: 0, count: 16)
        mapped.replaceSubrange(10..<16, with: [0xFF, 0xFF, 192, 0, 2, 1])
        let linkLocal = [0xFE, 0x80] + [UInt8](repeating: 0, count: 13) + [9]
        let report = try Self.report(Message(family: 10, local: linkLocal, remote: mapped, interface: 3))
        #expect(report.remote.address == IPAddress("192.0.2.1"))
        #expect(report.local.address.description == "fe80::9%3")
    }

    @Test("Unknown families and states are malformed, other types of messages are passed over")
    func unknown() {
        #expect(SocketMessageDecoder.decode(Message(family: 1).bytes) == [.malformed])
        for state: UInt8 in [0, 14, 255] {
            #expect(SocketMessageDecoder.decode(Message(state: state).bytes) == [.malformed], "\(state)")
        }
        #expect(SocketMessageDecoder.decode(Message(type: 99).bytes) == [.ignored])
    }

    @Test("Bytes of real messages, changed at random, are read without harm")
    func noise() {
        var generator = SeededGenerator(seed: 42)
        let whole = Message(attributes: [(10, [6]), (21, [1, 0, 0, 0, 0, 0, 0, 0]), (2, Self.info(280))]).bytes
        var reports = 0
        for _ in 0..<20_000 {
            var bytes = whole
            for _ in 0...Int.random(in: 0...6, using: &generator) {
                bytes[Int.random(in: 0..<bytes.count, using: &generator)] = .random(in: 0...255, using: &generator)
            }
            reports += SocketMessageDecoder.decode(bytes).count { if case .socket = $0 { true } else { false } }
        }
        // Most changes are in numbers that mean something else then.
        #expect(reports > 5000)
    }

}

extension SocketMessageDecoder {
    /// Every message of a datagram.
    fileprivate static func decode(_ datagram: [UInt8]) -> [SocketMessage] {
        var messages: [SocketMessage] = []
        datagram.withUnsafeBytes { bytes in self.decode(bytes) { messages.append($1) } }
        return messages
    }
}
