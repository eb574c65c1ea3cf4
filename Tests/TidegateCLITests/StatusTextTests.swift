import Testing
import Tidegate
import TidegateTestKit
@testable import TidegateServer
@testable import TidegateCore

@testable import TidegateCLI

@Suite struct StatusTextTests {
    private func text(_ status: ReachabilityStatus, _ style: TextStyle = .plain) -> String {
        StatusText().lines(status, style).joined(separator: "\n")
    }

    @Test("A routed network prints one line a family")
    func routed() throws {
        let none = Verdict(level: .none, reason: .noAddress)
        let target = try Samples.target("api.example.com:443")
        let addresses = [("198.51.100.2", Samples.routed), ("2001:db8::2", none)].compactMap { text, verdict in
            IPAddress(text).map { AddressVerdict(address: $0, verdict: verdict) }
        }
        let status = Samples.status(
            Samples.routed, ipv4: Samples.routed, ipv6: none, links: [Samples.loopback, Samples.up],
            targets: [TargetVerdict(target: target, verdict: Samples.routed, addresses: addresses)])
        #expect(
            self.text(status) == """
                network  routed
                ipv4     routed  via 10.0.0.1 on eth0, source 10.0.0.2
                ipv6     none    no address

                TARGET               LEVEL   PATH
                api.example.com:443  routed  via 10.0.0.1 on eth0, source 10.0.0.2
                  198.51.100.2       routed
                  2001:db8::2        none    no address

                LINK  TYPE      STATE  ADDRESSES
                lo    loopback  up     127.0.0.1/8
                eth0  ethernet  up     10.0.0.2/24, 2001:db8:1234:5678:abcd:ef01:2345:6789/64
                                       fe80::1/64
                """)
        #expect(StatusText().lines(status, .plain).allSatisfy { $0.count <= 80 })
    }

    @Test("-v adds the routing table, and the index and operational state of each link")
    func verbose() {
        var routed = Samples.routed
        routed.path?.table = 254
        let status = Samples.status(routed, ipv4: routed, ipv6: routed, links: [Samples.up])
        let lines = StatusText(isVerbose: true).lines(status, .plain)
        #expect(lines.contains("ipv4     routed  via 10.0.0.1 on eth0, source 10.0.0.2, table 254"))
        #expect(lines.contains("LINK  TYPE      STATE  INDEX  OPERSTATE  ADDRESSES"))
        #expect(lines.contains { $0.hasPrefix("eth0  ethernet  up     2      up         10.0.0.2/24") })
    }

    @Test("How a sidecar observes connections is the last line")
    func observation() {
        let status = Samples.status(Samples.routed, ipv4: Samples.routed, ipv6: Samples.routed, links: [Samples.up])
        func last(_ mode: String, _ reason: String?) -> String? {
            let observation = DaemonReport.Observation(mode: mode, reason: reason)
            return StatusText().lines(status, .plain, DaemonReport(targets: [], observation: observation)).last
        }
        #expect(last("event", nil) == "The sidecar observes connections by messages and lists.")
        #expect(
            last("poll", "the kernel refuses it")
                == "The sidecar observes connections by lists only: the kernel refuses it.")
    }

    @Test("What is slow is one line with its beginning and advice, and a healthy network has none")
    func slow() {
        let status = Samples.status(Samples.routed, ipv4: Samples.routed, ipv6: Samples.routed, links: [Samples.up])
        func last(_ change: (inout QualityStatus) -> Void) -> String? {
            var (quality, report) = (EveryEvent.qualityStatus, DaemonReport(targets: []))
            change(&quality)
            report.quality = quality.json(names: EveryEvent.target.map { [$0: "api"] } ?? [:])
            return StatusText().lines(status, .plain, report).last
        }
        #expect(
            last { _ in }
                == "slow: 12 % of packets are lost beyond your router 10.0.0.1, wherever they go, since 14:13:05 UTC. "
                + "Report the figures of this measurement to the provider. Slow targets besides: 1.")
        #expect(
            last { $0.network = nil }
                == "slow: api: the server answers after 1.2 s; a round trip takes 32 ms, since 14:13:05 UTC. "
                + "Check the server's log at this time.")
        #expect(
            last { ($0.network, $0.targets) = (nil, [:]) } == StatusText().lines(status, .plain).last,
            "nothing is slow")
    }

    @Test("A network without a path names what is missing")
    func noCarrier() {
        let none = Verdict(level: .none, reason: .noCarrier)
        let status = Samples.status(none, ipv4: none, ipv6: none, links: [Samples.carrierless])
        #expect(
            self.text(status) == """
                network  none  eth0 has no carrier
                ipv4     none  eth0 has no carrier
                ipv6     none  eth0 has no carrier

                LINK  TYPE      STATE       ADDRESSES
                eth0  ethernet  no carrier  -
                """)
    }

    @Test("The text says that an unknown verdict opens gates")
    func unknown() {
        #expect(
            self.text(.unavailable(mode: .once)) == """
                network  unknown  the kernel's network state cannot be read
                ipv4     unknown  the kernel's network state cannot be read
                ipv6     unknown  the kernel's network state cannot be read

                Gates are open while the level is unknown.
                """)
    }

    @Test("Long ways and notes are folded under their column")
    func folding() {
        var verdict = Samples.routed
        verdict.notes = [.uniqueLocalSource, .degradedMultipath(live: 1, total: 2)]
        let status = Samples.status(verdict, ipv4: verdict, ipv6: Samples.routed, links: [])
        #expect(
            self.text(status) == """
                network  routed
                ipv4     routed  via 10.0.0.1 on eth0, source 10.0.0.2
                                 unique local source address, only 1 of 2 nexthops usable
                ipv6     routed  via 10.0.0.1 on eth0, source 10.0.0.2
                """)
    }

    @Test("Colors do not change the columns")
    func colors() {
        let status = Samples.status(Samples.routed, ipv4: Samples.routed, ipv6: Samples.routed, links: [])
        let plain = self.text(status)
        let colored = self.text(status, TextStyle(isColored: true, width: 80))
        #expect(colored.contains("\u{1B}[32mrouted\u{1B}[0m"))
        #expect(colored.replacing(#/\u{1B}\[\d+m/#, with: "") == plain)
    }

    @Test("One family hides the other and decides alone")
    func oneFamily() throws {
        let none = Verdict(level: .none, reason: .noRoute)
        let status = Samples.status(Samples.routed, ipv4: Samples.routed, ipv6: none, links: [])
        #expect(status.only(.ipv6).families.count == 1 && status.only(.ipv6).global == none)
        #expect(status.only(nil).families.count == 2)
        #expect(CommandError(for: status) == nil && CommandError(for: status.only(.ipv6)) == CommandError(.no))
    }

    @Test("The exit code follows the targets where some are named, and the network otherwise")
    func exitCodes() throws {
        let none = Verdict(level: .none, reason: .noRoute)
        let lan = TargetVerdict(target: try Samples.target("10.0.0.9"), verdict: Samples.routed)
        let wan = TargetVerdict(target: try Samples.target("192.0.2.9"), verdict: none)
        let unavailable = TargetVerdict(target: try Samples.target("a.example"), verdict: .unknown)
        func ending(_ targets: TargetVerdict...) -> CommandError? {
            CommandError(for: Samples.status(none, ipv4: none, ipv6: none, links: [], targets: targets))
        }
        #expect(ending() == CommandError(.no))
        #expect(ending(lan) == nil)
        #expect(ending(lan, wan) == CommandError(.no))
        #expect(ending(lan, unavailable) == CommandError(.unknown))
        #expect(ending(unavailable, wan) == CommandError(.no))
        #expect(CommandError(for: .unavailable(mode: .once)) == CommandError(.unknown))
    }

    @Test("Changes are worded on one line each")
    func changes() {
        let none = Verdict(level: .none, reason: .noCarrier)
        func line(_ payload: Event.Payload, isVerbose: Bool = false) -> String? {
            let event = Event(
                sequence: 1, time: WallTime(microseconds: 1_790_000_000_000_000),
                moment: MonotonicTime(nanoseconds: 0), payload: payload)
            return ChangeText.line(event, among: [Samples.carrierless], .plain, isVerbose: isVerbose)
        }
        #expect(
            line(.path(PathEvent(scope: .global, from: Samples.routed, to: none)))
                == "14:13:20.000Z  network  routed -> none  eth0 has no carrier")
        #expect(
            line(.path(PathEvent(scope: .family(.ipv4), from: Samples.routed, to: Samples.routed)))
                == "14:13:20.000Z  ipv4  routed  via 10.0.0.1 on eth0, source 10.0.0.2")
        #expect(
            line(.link(LinkEvent(from: Samples.up, to: Samples.carrierless)))
                == "14:13:20.000Z  link eth0: no carrier")
        #expect(line(.link(LinkEvent(from: nil, to: Samples.up))) == "14:13:20.000Z  link eth0 added: up")
        #expect(line(.link(LinkEvent(from: Samples.up, to: nil))) == "14:13:20.000Z  link eth0 removed")
        #expect(line(.netlink(.received(.newlink, count: 2))) == nil)
        #expect(
            line(.netlink(.received(.newlink, count: 2)), isVerbose: true)
                == "14:13:20.000Z  2 netlink messages of type newlink")
    }

    @Test("A name cannot control the terminal; colours and line feeds of ours stay")
    func controls() {
        let style = TextStyle(isColored: true, width: 80)
        let painted = style.paint("bad", .bad) + "\n"
        #expect(TextStyle.escapingControls(painted) == painted)
        #expect(
            TextStyle.escapingControls("eth\u{1B}]0;x\u{7}\u{9B}2J\u{1B}[31;5m\u{202E}é\t")
                == "eth\\u{1b}]0;x\\u{7}\\u{9b}2J\\u{1b}[31;5m\\u{202e}é\\u{9}")
        var renderer = TerminalRenderer()
        #expect(renderer.render(["a\u{1B}[2Jb"]) == "a\\u{1b}[2Jb\u{1B}[K\n\u{1B}[J")
    }
}
