internal import Testing
internal import TidegateCore

@testable internal import TidegateNetwork

/// The evaluation of routing rules, compared with the kernel's.
struct RuleEvaluationTests {
    private static func rule(
        _ priority: UInt32, _ action: KernelRule.Action, _ change: (inout KernelRule) -> Void = { _ in }
    ) -> KernelRule {
        var rule = KernelRule(priority: priority, action: action)
        change(&rule)
        return rule
    }

    private static func prefix(_ text: String) -> IPPrefix? {
        let parts = text.split(separator: "/")
        return IPAddress(String(parts[0])).flatMap { IPPrefix($0, length: Int(parts[1]) ?? 0) }
    }

    private static let local = rule(0, .lookup(255))
    private static let main = rule(32766, .lookup(254))

    private func packet(
        _ destination: String = "8.8.8.8", _ change: (inout RuleEvaluation.Packet) -> Void = { _ in }
    ) throws -> RuleEvaluation.Packet {
        var packet = RuleEvaluation.Packet(destination: try #require(IPAddress(destination)), uid: 1000)
        change(&packet)
        return packet
    }

    @Test("Rules without selectors match every packet of this host, in order")
    func plain() throws {
        let evaluation = RuleEvaluation(of: try self.packet(), through: [Self.local, Self.main])
        #expect(evaluation.matching == [Self.local, Self.main])
        #expect(evaluation.rule(to: 254, prefixLength: 0) == Self.main)
        #expect(evaluation.rule(to: 100, prefixLength: 0) == nil)
    }

    @Test(
        "A selector matches what it names and nothing else",
        arguments: [
            ("mark", rule(9, .lookup(9)) { $0.mark = .init(value: 0xCA6C) }, true),
            ("another mark", rule(9, .lookup(9)) { $0.mark = .init(value: 1) }, false),
            ("the bits of a mark that count", rule(9, .lookup(9)) { $0.mark = .init(value: 0xC, mask: 0xF) }, true),
            ("the bits of no mark", rule(9, .lookup(9)) { $0.mark = .init(value: 0, mask: 0xF) }, false),
            ("user", rule(9, .lookup(9)) { $0.uidRange = 1000...1000 }, true),
            ("another user", rule(9, .lookup(9)) { $0.uidRange = 0...999 }, false),
            ("destination", rule(9, .lookup(9)) { $0.destination = prefix("8.0.0.0/8") }, true),
            ("another destination", rule(9, .lookup(9)) { $0.destination = prefix("9.0.0.0/8") }, false),
            ("source before there is one", rule(9, .lookup(9)) { $0.source = prefix("10.0.0.0/8") }, false),
            ("protocol", rule(9, .lookup(9)) { $0.ipProtocol = 6 }, true),
            ("another protocol", rule(9, .lookup(9)) { $0.ipProtocol = 17 }, false),
            ("port", rule(9, .lookup(9)) { $0.destinationPorts = 400...500 }, true),
            ("another port", rule(9, .lookup(9)) { $0.destinationPorts = 80...80 }, false),
            ("source port", rule(9, .lookup(9)) { $0.sourcePorts = 443...443 }, false),
            ("type of service", rule(9, .lookup(9)) { $0.typeOfService = 0x10 }, false),
            ("this host's own packets", rule(9, .lookup(9)) { $0.inputName = "lo" }, true),
            ("forwarded packets", rule(9, .lookup(9)) { $0.inputName = "eth0" }, false),
            ("bound link", rule(9, .lookup(9)) { $0.outputName = "eth0" }, true),
            ("another bound link", rule(9, .lookup(9)) { $0.outputName = "eth1" }, false),
            ("VRF", rule(9, .lookup(0)) { $0.isL3Master = true }, false),
        ])
    func selectors(name: String, rule: KernelRule, isMatch: Bool) throws {
        let packet = try self.packet {
            ($0.mark, $0.ipProtocol, $0.port, $0.outputName) = (0xCA6C, 6, 443, "eth0")
        }
        #expect(RuleEvaluation(of: packet, through: [rule]).matching == (isMatch ? [rule] : []), "\(name)")
        var inverted = rule
        inverted.isInverted = true
        #expect(RuleEvaluation(of: packet, through: [inverted]).matching == (isMatch ? [] : [inverted]), "not \(name)")
    }

    @Test("An unset IPv4 source counts as 0.0.0.0, an unset IPv6 source never matches, and a set one is compared")
    func sources() throws {
        let all = Self.rule(9, .lookup(9)) { $0.source = Self.prefix("0.0.0.0/1") }
        #expect(RuleEvaluation(of: try self.packet(), through: [all]).matching == [all])
        let six = Self.rule(9, .lookup(9)) { $0.source = Self.prefix("::/1") }
        #expect(RuleEvaluation(of: try self.packet("2001:db8::1"), through: [six]).matching.isEmpty)
        let bound = try self.packet { $0.source = IPAddress("10.1.2.3") }
        let ten = Self.rule(9, .lookup(9)) { $0.source = Self.prefix("10.0.0.0/8") }
        #expect(RuleEvaluation(of: bound, through: [ten]).matching == [ten])
    }

    @Test("With wg-quick's rules unmarked traffic uses the tunnel unless main has a route that is no default")
    func wireGuard() throws {
        let suppressing = Self.rule(32764, .lookup(254)) { $0.suppressPrefixLength = 0 }
        let tunnel = Self.rule(32765, .lookup(51820)) {
            $0.mark = .init(value: 51820)
            $0.isInverted = true
        }
        let rules = [Self.local, suppressing, tunnel, Self.main]
        let unmarked = RuleEvaluation(of: try self.packet(), through: rules)
        #expect(unmarked.rule(to: 51820, prefixLength: 0) == tunnel)
        #expect(unmarked.rule(to: 254, prefixLength: 24) == suppressing, "a specific route of main")
        #expect(unmarked.rule(to: 254, prefixLength: 0) == Self.main)
        let marked = RuleEvaluation(of: try self.packet { $0.mark = 51820 }, through: rules)
        #expect(marked.matching == [Self.local, suppressing, Self.main])
        #expect(marked.rule(to: 254, prefixLength: 0) == Self.main)
    }

    @Test("The rule for VRFs leads to the table of the VRF that the socket is bound to")
    func vrf() throws {
        let l3 = Self.rule(1000, .lookup(0)) { $0.isL3Master = true }
        let bound = RuleEvaluation(of: try self.packet { $0.l3Table = 10 }, through: [l3, Self.main])
        #expect(bound.rule(to: 10, prefixLength: 0) == l3)
        #expect(RuleEvaluation(of: try self.packet(), through: [l3, Self.main]).matching == [Self.main])
    }

    @Test("A jump skips the rules in between; a jump to a missing rule and a nop have no effect")
    func jumps() throws {
        let skipped = Self.rule(200, .lookup(1))
        let goal = Self.rule(300, .lookup(2))
        let jump = Self.rule(100, .goTo(300))
        #expect(RuleEvaluation(of: try self.packet(), through: [jump, skipped, goal]).matching == [goal])
        let lost = Self.rule(100, .goTo(400))
        let nop = Self.rule(150, .other(3))
        #expect(
            RuleEvaluation(of: try self.packet(), through: [lost, nop, skipped, goal]).matching == [skipped, goal])
    }

    @Test("A refusal is attributed to the first rule that refuses, or to a route in a table before it")
    func refusals() throws {
        let prohibit = Self.rule(100, .prohibit) { $0.uidRange = 1000...1000 }
        let rules = [Self.local, prohibit, Self.main]
        let refused = RuleEvaluation(of: try self.packet(), through: rules)
        #expect(refused.matching == [Self.local, prohibit], "rules after a refusal are not evaluated")
        #expect(refused.refusal(errno: 13, among: []).rule == prohibit)
        let wide = DefaultRoute(
            prefix: try #require(Self.prefix("8.0.0.0/8")), route: KernelRoute(kind: .prohibit, table: 254))
        let narrow = DefaultRoute(
            prefix: try #require(Self.prefix("8.8.8.0/24")), route: KernelRoute(kind: .prohibit, table: 254))
        let other = DefaultRoute(
            prefix: try #require(Self.prefix("9.0.0.0/8")), route: KernelRoute(kind: .prohibit, table: 254))
        let routed = RuleEvaluation(of: try self.packet { $0.uid = 0 }, through: rules)
        let found = routed.refusal(errno: 13, among: [wide, narrow, other])
        #expect(found.rule == Self.main && found.route == narrow)
        #expect(refused.refusal(errno: 13, among: [narrow]).rule == prohibit, "its table is not reached")
        #expect(routed.refusal(errno: 22, among: [narrow]).rule == nil, "another error, another kind of route")
        #expect(routed.refusal(errno: 101, among: []).rule == nil, "no rule is left")
    }

    @Test(
        "Rules are described as iproute2 prints them",
        arguments: [
            (main, "32766: from all lookup main"),
            (rule(32767, .lookup(253)), "32767: from all lookup default"),
            (
                rule(32765, .lookup(51820)) {
                    $0.mark = .init(value: 51820)
                    $0.isInverted = true
                }, "32765: not from all fwmark 0xca6c lookup 51820"
            ),
            (
                rule(32764, .lookup(254)) { $0.suppressPrefixLength = 0 },
                "32764: from all lookup main suppress_prefixlength 0"
            ),
            (
                rule(5, .prohibit) {
                    $0.source = prefix("10.0.0.0/8")
                    $0.destination = prefix("8.8.8.8/32")
                    $0.uidRange = 1000...1001
                }, "5: from 10.0.0.0/8 to 8.8.8.8 uidrange 1000-1001 prohibit"
            ),
            (
                rule(6, .lookup(100)) {
                    $0.mark = .init(value: 1, mask: 0xFF)
                    ($0.inputName, $0.outputName, $0.ipProtocol) = ("lo", "eth0", 6)
                    $0.destinationPorts = 80...90
                }, "6: from all fwmark 0x1/0xff iif lo oif eth0 ipproto tcp dport 80-90 lookup 100"
            ),
            (rule(1000, .lookup(0)) { $0.isL3Master = true }, "1000: from all lookup [l3mdev-table]"),
            (rule(7, .goTo(10)), "7: from all goto 10"),
            (rule(8, .other(3)), "8: from all nop"),
            (rule(9, .unreachable), "9: from all unreachable"),
        ])
    func description(rule: KernelRule, text: String) {
        #expect(rule.description == text)
    }

    @Test(
        "A prefix contains the addresses of its family that begin with its bits",
        arguments: [
            ("0.0.0.0/0", "8.8.8.8", true), ("128.0.0.0/1", "8.8.8.8", false), ("128.0.0.0/1", "193.0.14.129", true),
            ("10.1.2.3/32", "10.1.2.3", true), ("10.1.2.3/32", "10.1.2.4", false), ("10.0.0.9/24", "10.0.0.1", true),
            ("0.0.0.0/0", "::1", false), ("::/0", "8.8.8.8", false), ("::/0", "2001:db8::1", true),
            ("2001:db8::/64", "2001:db8::ffff", true), ("2001:db8::/64", "2001:db8:0:1::1", false),
            ("2001:db8::/65", "2001:db8:0:0:8000::1", false), ("2001:db8::1/128", "2001:db8::1", true),
            ("2001:db8::1/128", "2001:db8::2", false), ("fe80::/10", "febf::1", true),
        ])
    func contains(prefix: String, address: String, isInside: Bool) throws {
        let prefix = try #require(Self.prefix(prefix))
        #expect(prefix.contains(try #require(IPAddress(address))) == isInside)
    }
}
