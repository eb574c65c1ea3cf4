internal import Testing
internal import TidegateCore

@testable internal import TidegateNetwork

/// Tables of links and addresses, built from messages.
struct KernelTablesTests {
    private let up = KernelLink(index: 7, name: "eth0", flags: 0x11043, operState: .up)

    private func address(_ text: String = "10.0.0.2", flags: UInt32 = 0x80) throws -> KernelAddress {
        let address = try #require(IPAddress(text))
        return KernelAddress(link: 7, prefix: try #require(IPPrefix(address, length: 24)), flags: flags)
    }

    @Test("A loss differs from other changes, and a repetition is no change")
    func changes() throws {
        var tables = KernelTables()
        var down = self.up
        down.flags = 0x1003
        #expect(tables.apply(.link(self.up)) == .some)
        #expect(tables.apply(.link(self.up)) == .none)
        #expect(tables.apply(.link(down)) == .loss)
        #expect(tables.apply(.link(self.up)) == .some)
        #expect(tables.apply(.address(try self.address())) == .some)
        #expect(tables.apply(.address(try self.address())) == .none)
        #expect(tables.apply(.address(try self.address(flags: 0xA0))) == .some)
        #expect(tables.apply(.addressGone(try self.address())) == .loss)
        #expect(tables.apply(.addressGone(try self.address())) == .none)
        #expect(tables.apply(.linkGone(index: 7)) == .loss)
        #expect(tables.apply(.linkGone(index: 7)) == .none)
        #expect(tables.apply(.routeGone) == .some)
        #expect(tables.apply(.ignored) == .none)
    }

    @Test("An index that is used again has another generation, also across a dump")
    func generations() throws {
        var tables = KernelTables(links: [self.up], addresses: [try self.address()])
        #expect(tables.link(7)?.generation == 0)
        _ = tables.apply(.linkGone(index: 7))
        #expect(tables.addresses(on: 7).isEmpty)
        _ = tables.apply(.link(self.up))
        #expect(tables.link(7)?.generation == 1)
        tables.replace(links: [self.up], addresses: [])
        #expect(tables.link(7)?.generation == 1)
        tables.replace(links: [], addresses: [])
        tables.replace(links: [self.up], addresses: [])
        #expect(tables.link(7)?.generation == 2)
    }

    @Test("An index that became another device while messages were lost has another generation")
    func otherDevice() throws {
        var link = self.up
        (link.infoKind, link.carrierLosses) = ("veth", 5)
        var tables = KernelTables(links: [link], addresses: [try self.address()])
        tables.classify(7, as: .ethernet)
        var younger = link
        younger.carrierLosses = 1
        tables.replace(links: [younger], addresses: [])
        #expect(tables.link(7)?.generation == 1)
        var bridge = younger
        (bridge.infoKind, bridge.carrierLosses) = ("bridge", 1)
        _ = tables.apply(.link(bridge))
        #expect(tables.link(7)?.generation == 2 && tables.link(7)?.kind == .other, "it is classified again")
        bridge.carrierLosses = 4
        #expect(tables.apply(.link(bridge)) == .some)
        #expect(tables.link(7)?.generation == 2)
    }

    @Test("An interrupted dump adds and changes entries, and removes none")
    func merging() throws {
        var tables = KernelTables(links: [self.up], addresses: [try self.address()])
        var other = self.up
        (other.index, other.name) = (8, "eth1")
        tables.merge(links: [other], addresses: [])
        #expect(tables.links.keys.sorted() == [7, 8])
        #expect(tables.addresses(on: 7).count == 1)
    }

    @Test("Removing a link that was down is no loss")
    func deadEnd() {
        var down = self.up
        down.flags = 0x1002
        var tables = KernelTables(links: [down])
        #expect(tables.apply(.linkGone(index: 7)) == .some)
    }

    @Test("Without sysfs, a device whose driver reports no kind is hardware")
    func withoutSysfs() {
        #expect(LinkClassifier.kind(of: self.up) { nil } == .ethernet)
        #expect(SystemFiles.facts(of: KernelLink(index: 4_000_000, name: "lo", flags: 0)) == nil)
        #expect(SystemFiles.facts(of: KernelLink(index: 1, name: "../../etc", flags: 0)) == nil)
    }

    @Test("A renamed link keeps its kind")
    func renames() {
        var tables = KernelTables(links: [self.up])
        tables.classify(7, as: .wifi)
        var renamed = self.up
        renamed.name = "wan0"
        _ = tables.apply(.link(renamed))
        #expect(tables.link(7)?.kind == .wifi && tables.link(7)?.name == "wan0")
    }

    @Test(
        "The kind of a link is decided by its driver, then its hardware type, then sysfs, then its name",
        arguments: [
            ("bridge", 1, LinkFacts(), "x", Link.Kind.bridge), ("bond", 1, LinkFacts(), "x", .bond),
            ("tun", 65534, LinkFacts(), "x", .tunnel), ("wireguard", 65534, LinkFacts(), "x", .tunnel),
            ("veth", 1, LinkFacts(), "eth0", .ethernet), ("dummy", 1, LinkFacts(hasDevice: true), "x", .virtual),
            (nil, 772, LinkFacts(), "lo", .loopback),
            (nil, 512, LinkFacts(), "ppp0", .tunnel), (nil, 1, LinkFacts(deviceType: "wlan"), "x", .wifi),
            (nil, 1, LinkFacts(deviceType: "wwan"), "x", .cellular), (nil, 1, LinkFacts(isWireless: true), "x", .wifi),
            (nil, 1, LinkFacts(), "rmnet0", .cellular), (nil, 1, LinkFacts(hasDevice: true), "eth0", .ethernet),
            ("tun", 1, LinkFacts(), "tap0", .tunnel), ("netkit", 1, LinkFacts(), "eth0", .ethernet),
            ("team", 1, LinkFacts(), "x", .bond), ("macvlan", 1, LinkFacts(), "x", .virtual),
            ("vlan", 1, LinkFacts(hasDevice: true), "x", .virtual), ("wwan", 65534, LinkFacts(), "x", .cellular),
            ("bridge", 1, LinkFacts(deviceType: "wlan"), "x", .bridge), (nil, 801, LinkFacts(), "mon0", .wifi),
            (nil, 768, LinkFacts(deviceType: "wlan"), "x", .tunnel), (nil, 776, LinkFacts(), "sit0", .tunnel),
            (nil, 519, LinkFacts(), "x", .cellular), (nil, 65534, LinkFacts(), "x", .tunnel),
            (nil, 1, LinkFacts(deviceType: "vxlan"), "x", .tunnel), (nil, 1, LinkFacts(), "rev_rmnet0", .cellular),
            (nil, 1, LinkFacts(), "ccmni1", .cellular), (nil, 1, LinkFacts(hasDevice: true), "wwan0", .cellular),
            (nil, 1, LinkFacts(deviceType: "wlan"), "wwan0", .wifi),
            (nil, 1, LinkFacts(deviceType: "gadget"), "usb0", .ethernet),
            (nil, 1, LinkFacts(deviceType: "bluetooth", hasDevice: true), "bnep0", .ethernet),
            (nil, 1, LinkFacts(), "eth0", .virtual), (nil, 32, LinkFacts(), "ib0", .other),
        ] as [(String?, UInt16, LinkFacts, String, Link.Kind)])
    func kinds(driver: String?, hardware: UInt16, facts: LinkFacts, name: String, expected: Link.Kind) {
        let link = KernelLink(index: 7, name: name, flags: 0, hardwareType: hardware, infoKind: driver)
        #expect(LinkClassifier.kind(of: link) { facts } == expected)
    }
}
