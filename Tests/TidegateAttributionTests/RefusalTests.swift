import Testing
import TidegateAttribution
import TidegateCore

/// What an ICMP error means by its sender, one row each.
@Suite struct RefusalTests {
    private static let gateway = IPAddress(ipv4: 0x0A4D_0001)
    private static let target = IPAddress(ipv4: 0xCB00_710A)

    private static let own = IPAddress(ipv4: 0x0A4D_0002)
    private static let router = IPAddress(ipv4: 0x6440_0001)

    /// Who sent an error.
    private enum Sender {
        case thisHost, gateway, router, destination
    }

    private static func error(_ type: UInt8, _ code: UInt8, _ sender: Sender = .gateway) -> ICMPError {
        let offenders = [Sender.thisHost: own, .gateway: gateway, .router: router, .destination: target]
        return ICMPError(offender: offenders[sender], type: type, code: code)
    }

    private func cause(
        _ type: UInt8, _ code: UInt8, _ sender: Sender, onLink: Bool = false, witnesses: [Witness] = []
    ) -> Cause {
        let path = NetworkPath(
            interface: "eth0", index: 2, gateway: onLink ? nil : Self.gateway, source: Self.own)
        let verdict = Verdict(level: .routed, path: path)
        return DecisionTable.cause(
            of: FailureEvidence(
                failure: .connectFailed, refusal: Self.error(type, code, sender), peer: Self.target, before: verdict,
                after: verdict, witnesses: witnesses))
    }

    @Test("This host refuses: its firewall, or a neighbour that it does not find")
    func thisHost() {
        #expect(self.cause(3, 13, .thisHost) == .thisHost(.filter(Self.error(3, 13, .thisHost))))
        #expect(self.cause(3, 3, .thisHost) == .thisHost(.filter(Self.error(3, 3, .thisHost))))
        #expect(self.cause(3, 1, .thisHost) == .router(.absent(Self.gateway, link: "eth0")))
        #expect(self.cause(3, 1, .thisHost, onLink: true) == .server(.absent(Self.target, link: "eth0")))
    }

    @Test("The gateway has no route, forbids it, or looks for the host in vain")
    func theGateway() {
        #expect(self.cause(3, 0, .gateway).party == .upstream)
        for code: UInt8 in [9, 10, 13] { #expect(self.cause(3, code, .gateway).party == .gateway, "3/\(code)") }
        #expect(self.cause(3, 1, .gateway) == .server(.gone(Self.error(3, 1))), "its own link")
        #expect(self.cause(11, 0, .gateway).party == .path)
    }

    @Test("A router that finds no host is cut off if packets to another network do not arrive either")
    func cutOffRouter() {
        let error = Self.error(3, 1, .router)
        let own = Witness(.hopWalk, .router(Self.router), refusal: error)
        #expect(self.cause(3, 1, .router, witnesses: [own]) == .server(.gone(error)))
        for other in [own, Witness(.hopWalk, .nothing)] {
            #expect(self.cause(3, 1, .router, witnesses: [own, other]) == .provider(.ends(after: Self.router)))
        }
        let arriving = Witness(.hopWalk, .beyond(nil))
        #expect(self.cause(3, 1, .router, witnesses: [own, arriving]) == .server(.gone(error)))
    }

    @Test("A gateway that finds no host at all beyond it is cut off from its provider")
    func cutOff() {
        let same = Witness(.hopWalk, .gateway, refusal: Self.error(3, 1))
        #expect(self.cause(3, 1, .gateway, witnesses: [same]).party == .upstream)
        let other = Witness(.hopWalk, .gateway, refusal: Self.error(3, 0))
        #expect(self.cause(3, 1, .gateway, witnesses: [other]).party == .theirs, "only a route is missing there")
        let working = Witness(.attempt, .beyond(nil))
        #expect(self.cause(3, 1, .gateway, witnesses: [same, working]).party == .theirs)
    }

    @Test("A router beyond: on the way, unless it looks for the host on its own link")
    func beyond() {
        #expect(self.cause(3, 0, .router).party == .path)
        #expect(self.cause(3, 13, .router).party == .path)
        #expect(self.cause(11, 0, .router) == .onTheWay(.loop(at: Self.router)))
        #expect(self.cause(3, 1, .router) == .server(.gone(Self.error(3, 1, .router))))
    }

    @Test("A router that refuses in place of a port that accepts connections is not believed")
    func contradicted() {
        let path = NetworkPath(interface: "eth0", index: 2, gateway: Self.gateway, source: Self.own)
        let verdict = Verdict(level: .routed, path: path)
        for code: UInt8 in [0, 1, 13] {
            var evidence = FailureEvidence(
                failure: .timedOut, refusal: Self.error(3, code, .router), peer: Self.target, before: verdict,
                after: verdict, witnesses: [Witness(.hopWalk, .destination)])
            (evidence.rung, evidence.isPortOpen) = (.tcp, true)
            #expect(DecisionTable.cause(of: evidence) == .unknown(.silence), "it may be forged")
            evidence.socketError = .refused
            #expect(DecisionTable.cause(of: evidence) != .unknown(.silence), "the port itself refuses now and then")
        }
    }

    @Test("The target's own refusal is the server's")
    func destination() {
        #expect(self.cause(3, 13, .destination) == .server(.prohibits(Self.error(3, 13, .destination))))
    }
}
