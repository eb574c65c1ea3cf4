internal import Testing
internal import TidegateTestKit
internal import TidegateCore

@testable internal import TidegateNetwork

/// Decoding datagrams of the kernel, and any other bytes.
struct MessageDecoderTests {
    private func one(_ bytes: [UInt8]) -> NetlinkMessage? {
        let envelopes = MessageDecoder.decode(bytes)
        return envelopes.count == 1 ? envelopes.first?.message : nil
    }

    /// The offsets at which the messages of a datagram end, from their lengths alone.
    private func ends(of datagram: [UInt8]) -> [Int] {
        var ends: [Int] = []
        while case let start = ends.last ?? 0, start < datagram.count {
            ends.append(start + Int(datagram[start]) + Int(datagram[start + 1]) << 8)
        }
        return ends
    }

    private func link(_ bytes: [UInt8]) throws -> KernelLink {
        let message = self.one(bytes)
        return try #require(
            { if case .link(let link) = message { link } else { nil } }(), "\(String(describing: message))")
    }

    private func address(_ bytes: [UInt8]) throws -> KernelAddress {
        let message = self.one(bytes)
        return try #require(
            { if case .address(let address) = message { address } else { nil } }(), "\(String(describing: message))")
    }

    private func route(_ bytes: [UInt8]) throws -> KernelRoute {
        let message = self.one(bytes)
        return try #require(
            { if case .route(let route) = message { route } else { nil } }(), "\(String(describing: message))")
    }

    // MARK: Recorded

    @Test("A recorded address dump has every address with its link and length")
    func addresses() {
        let prefixes = MessageDecoder.decode(RecordedMessages.addresses).map { envelope -> String in
            guard case .address(let address) = envelope.message else { return "?" }
            return "\(address.link) \(address.prefix)"
        }
        #expect(
            prefixes == [
                "1 127.0.0.1/8", "77 10.0.0.2/24", "78 10.0.1.2/24", "1 ::1/128", "77 2001:db8::2/64",
                "77 fe80::a8fd:55ff:fe39:5e9/64", "78 fe80::34f5:d2ff:fe9b:40a2/64",
            ])
    }

    @Test("A recorded multipath route has both nexthops with their flags")
    func multipath() throws {
        let route = try self.route(RecordedMessages.multipath)
        #expect(
            route.legs == [
                .init(link: 77, gateway: IPAddress("10.0.0.1"), flags: 0),
                .init(link: 78, gateway: IPAddress("10.0.1.1"), flags: 0x10),
            ])
        #expect(route.legs.map(\.isDead) == [false, true])
        #expect(route.table == 254 && route.kind == .unicast)
    }

    @Test("Recorded single routes have link, gateway, source and no expiry")
    func routes() {
        #expect(
            self.one(RecordedMessages.chosen)
                == .route(
                    KernelRoute(
                        prefixLength: 32, routeProtocol: 0, flags: 0x200, link: 77, gateway: IPAddress("10.0.0.1"),
                        source: IPAddress("10.0.0.2"))))
        #expect(
            self.one(RecordedMessages.ipv6)
                == .route(KernelRoute(metric: 1024, link: 77, gateway: IPAddress("2001:db8::1"))))
    }

    @Test("A recorded error keeps the raw error number, and a recorded end ends the dump")
    func errors() {
        #expect(self.one(RecordedMessages.error) == .error(errno: 101, hasText: false))
        #expect(self.one(RecordedMessages.done) == .done(errno: 0))
    }

    // MARK: Made by hand

    @Test("A link has its name, flags, operstate, kind, master and carrier losses")
    func link() {
        var message = MessageBuilder.link()
        message.add(3, text: "br-lan0")
        message.add(16, [6])
        message.add(10, word: 5)
        message.add(48, word: 21)
        message.add(
            18, MessageBuilder.bytes(UInt16(9)) + MessageBuilder.bytes(UInt16(1)) + Array("veth".utf8) + [0, 0, 0, 0])
        #expect(
            self.one(message.bytes)
                == .link(
                    KernelLink(
                        index: 77, name: "br-lan0", flags: 0x11043, operState: .up, infoKind: "veth", master: 5,
                        carrierLosses: 21)))
    }

    @Test("A link has its alternative names, its lower link and, as a VRF, its table")
    func properties() throws {
        var message = MessageBuilder.link()
        message.add(3, text: "red")
        message.add(5, word: 12)
        var names = MessageBuilder(0, fixed: [])
        names.add(53, text: "uplink")
        names.add(53, text: "enp1s0")
        message.add(52 | 0x8000, Array(names.bytes.dropFirst(16)))
        var (info, data) = (MessageBuilder(0, fixed: []), MessageBuilder(0, fixed: []))
        data.add(1, word: 10)
        info.add(1, text: "vrf")
        info.add(2, Array(data.bytes.dropFirst(16)))
        message.add(18, Array(info.bytes.dropFirst(16)))
        let link = try self.link(message.bytes)
        #expect(link.alternativeNames == ["uplink", "enp1s0"])
        #expect(link.lower == 12 && link.vrfTable == 10 && link.infoKind == "vrf")
        message.add(37, word: 3)
        #expect(try self.link(message.bytes).lower == nil, "an index of another namespace")
    }

    @Test("A port that leaves its bridge is not a removed link")
    func bridgePort() {
        #expect(self.one(MessageBuilder.link(17, family: 7).bytes) == .ignored)
        #expect(self.one(MessageBuilder.link(17).bytes) == .linkGone(index: 77))
    }

    @Test("A message of wireless extensions is ignored")
    func wireless() {
        var message = MessageBuilder.link(change: 0)
        message.add(3, text: "wlan0")
        message.add(11, [1, 2, 3, 4])
        #expect(self.one(message.bytes) == .ignored)
    }

    @Test("On a point-to-point link the address is the local one, not the peer's")
    func pointToPoint() throws {
        var message = MessageBuilder(20, fixed: [2, 32, 0x80, 0] + MessageBuilder.bytes(UInt32(77)))
        message.add(1, [10, 0, 0, 1])
        message.add(2, [10, 0, 0, 2])
        let address = try self.address(message.bytes)
        #expect(address.address == IPAddress("10.0.0.2") && address.peer == IPAddress("10.0.0.1"))
    }

    @Test("An address with a preferred lifetime of zero is deprecated, whatever its flags are")
    func deprecated() throws {
        var message = MessageBuilder(20, fixed: [10, 64, 0, 0] + MessageBuilder.bytes(UInt32(77)))
        message.add(1, [0x20, 0x01, 0x0D, 0xB8] + [UInt8](repeating: 0, count: 11) + [2])
        message.add(8, word: 0x80)
        message.add(6, MessageBuilder.bytes(UInt32(0)) + [UInt8](repeating: 1, count: 12))
        let address = try self.address(message.bytes)
        #expect(address.flags == 0xA0)
    }

    @Test("Errors with a message differ from errors without, and expiries are decoded")
    func extendedAcknowledgement() throws {
        let request = MessageBuilder.bytes(UInt32(36)) + [UInt8](repeating: 0, count: 12)
        var error = MessageBuilder(2, flags: 0x300, fixed: MessageBuilder.bytes(Int32(-22)) + request)
        error.add(1, text: "Invalid flags")
        #expect(self.one(error.bytes) == .error(errno: 22, hasText: true))
        var route = MessageBuilder(24, fixed: [10, 0, 0, 0, 254, 9, 0, 1, 0, 0, 0, 0])
        route.add(
            12, [UInt8](repeating: 0, count: 8) + MessageBuilder.bytes(Int32(300)) + [UInt8](repeating: 0, count: 20))
        let decoded = try self.route(route.bytes)
        #expect(decoded.expiresIn == .seconds(3))
    }

    @Test("An IPv6 gateway of an IPv4 route is decoded from RTA_VIA, and table 1000 from its attribute")
    func via() throws {
        var route = MessageBuilder(24, fixed: [2, 0, 0, 0, 252, 3, 0, 1, 0, 0, 0, 0])
        route.add(15, word: 1000)
        route.add(18, MessageBuilder.bytes(UInt16(10)) + [0xFE, 0x80] + [UInt8](repeating: 0, count: 13) + [1])
        let decoded = try self.route(route.bytes)
        #expect(decoded.gateway == IPAddress("fe80::1") && decoded.table == 1000)
    }

    @Test("An interrupted dump is marked, and NLMSG_OVERRUN is decoded")
    func marks() {
        #expect(MessageDecoder.decode(MessageBuilder(3, flags: 0x10, fixed: [0, 0, 0, 0]).bytes)[0].isInterrupted)
        #expect(self.one(MessageBuilder(4, fixed: []).bytes) == .overrun)
    }

    @Test("Multicast only reports that routes changed, not which")
    func changedRoutes() {
        var messages: [NetlinkMessage?] = []
        RecordedMessages.multipath.withUnsafeBytes { bytes in
            MessageDecoder.decode(bytes, decodesRoutes: false) { messages.append($0.message) }
        }
        #expect(messages == [.changed(.newroute)])
    }

    // MARK: Malformed

    @Test("A route with invalid lengths of attributes is malformed")
    func malformedRoute() {
        var route = RecordedMessages.chosen
        // The length of the first attribute, behind the header and struct rtmsg.
        route[28] = 200
        #expect(self.one(route) == nil)
        route[28] = 3
        #expect(self.one(route) == nil)
    }

    @Test("Messages that are too short or have an invalid length are malformed")
    func malformed() {
        #expect(MessageDecoder.decode([]).isEmpty)
        #expect(MessageDecoder.decode([1, 2, 3]).map(\.message) == [nil])
        #expect(self.one(MessageBuilder(16, fixed: [0, 0]).bytes) == nil)
        var lying = MessageBuilder.link().bytes
        lying.replaceSubrange(0..<4, with: MessageBuilder.bytes(UInt32(5000)))
        #expect(MessageDecoder.decode(lying).map(\.message) == [nil])
        var tiny = MessageBuilder.link().bytes
        tiny.replaceSubrange(0..<4, with: MessageBuilder.bytes(UInt32(3)))
        #expect(MessageDecoder.decode(tiny).map(\.message) == [nil])
        #expect(self.one(MessageBuilder.link().bytes) == nil, "a link without a name")
        #expect(self.one(MessageBuilder.link(index: 0).bytes) == nil)
    }

    @Test("Every truncation of a recorded message is malformed at its end")
    func truncated() {
        for message in RecordedMessages.all {
            let ends = self.ends(of: message)
            #expect(ends.last == message.count)
            for length in 0..<message.count {
                let envelopes = MessageDecoder.decode(Array(message[..<length]))
                #expect((envelopes.last?.message == nil) != ends.contains(length), "\(length) bytes")
            }
        }
    }

    @Test("Rules, neighbours, settings and routes of random bytes decode without a crash")
    func fuzzedObjects() {
        var random = SeededGenerator(seed: 3)
        var decoded = 0
        let types: [UInt16] = [32, 28, 29, 80, 24]
        for _ in 0..<20_000 {
            let size = [12, 1, 12, 4].randomElement(using: &random) ?? 12
            let fixed = (0..<size).map { _ in UInt8.random(in: 0...12, using: &random) }
            var message = MessageBuilder(types.randomElement(using: &random) ?? 32, fixed: fixed)
            for _ in 0..<Int.random(in: 0...6, using: &random) {
                let payload = (0..<Int.random(in: 0...17, using: &random)).map { _ in
                    UInt8.random(in: 0...255, using: &random)
                }
                message.add(UInt16.random(in: 0...40, using: &random), payload)
            }
            var bytes = message.bytes
            for _ in 0..<2 {
                bytes[Int.random(in: bytes.indices, using: &random)] = UInt8.random(in: 0...255, using: &random)
            }
            bytes.withUnsafeBytes { datagram in
                _ = MessageDecoder.each(datagram) { message in
                    if RuleDecoder.decode(message, in: .ipv4) != nil { decoded += 1 }
                    if NeighbourDecoder.decode(message) != nil { decoded += 1 }
                    if NetconfDecoder.decode(message) != nil { decoded += 1 }
                    if RouteDecoder.listed(message, longest: 128, in: .ipv6) != nil { decoded += 1 }
                }
            }
        }
        #expect(decoded > 1000, "enough messages have to be valid for the decoders to be reached")
    }

    @Test("A hundred thousand mutations of recorded messages decode without a crash", arguments: [1, 2] as [UInt64])
    func fuzzed(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        for _ in 0..<50_000 {
            var message = try #require(RecordedMessages.all.randomElement(using: &random))
            for _ in 0..<Int.random(in: 1...8, using: &random) {
                message[Int.random(in: message.indices, using: &random)] = UInt8.random(in: 0...255, using: &random)
            }
            let length = Int.random(in: 0...message.count, using: &random)
            let decoded = MessageDecoder.decode(Array(message[..<length]))
            #expect(decoded.count <= length / 16 + 1)
        }
    }
}
