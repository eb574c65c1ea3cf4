import Testing
import Tidegate
import TidegateCore

@testable import TidegateCLI
@testable import TidegateServer

/// What `explain` prints.
@Suite struct ExplanationTextTests {
    private func text(_ explanation: Explanation, isVerbose: Bool = false) -> String {
        let style = TextStyle(isColored: false, width: 120)
        return ExplanationText.lines(explanation, style, isVerbose: isVerbose).joined(separator: "\n")
    }

    @Test("A target that works takes two lines: the result over each version of IP, and the way out")
    func reached() {
        #expect(
            self.text(ExplanationSamples.reached) == """
                https://api.example.com/health works: 204 in 12 ms (IPv4), 204 in 12 ms (IPv6); connect 24 ms, TLS
                31 ms
                way out    198.51.100.2 via 10.0.0.1 dev eth0 src 10.0.0.2; 2001:db8::2 via fe80::1 dev eth0 src
                           2001:db8::9
                """)
    }

    @Test("Every conclusion is one sentence")
    func sentences() {
        #expect(
            ExplanationSamples.reached.sentence
                == "Works: 204 in 12 ms (IPv4), 204 in 12 ms (IPv6); connect 24 ms, TLS 31 ms.")
        #expect(ExplanationSamples.reachedBut.sentence == "Works, but IPv6 does not.")
        #expect(ExplanationSamples.cableOut.sentence == "This host: eth0 has no carrier.")
        #expect(ExplanationSamples.expired.sentence == "The server api.example.com: the certificate expired.")
        #expect(ExplanationSamples.noSuchName.sentence == "This host: nosuch.example does not exist.")
        var internet = ExplanationSamples.reachedBut
        (internet.target, internet.addresses) = (Explanation.internet, [])
        #expect(internet.sentence == "Online, but IPv6 does not work.")
        internet.conclusion = .works
        #expect(internet.sentence == "Online.")
        var slow = ExplanationSamples.reached
        (slow.conclusion, slow.findings) = (.worksBut, ["the first byte came after 8 s"])
        #expect(slow.sentence == "Works, but the first byte came after 8 s.")
    }

    @Test("Without an internet the first line says so")
    func internet() {
        var explanation = ExplanationSamples.cableOut
        explanation.target = Explanation.internet
        #expect(self.text(explanation).hasPrefix("No internet: eth0 has no carrier\nfails at   carrier\n"))
    }

    @Test("An IP version that leads nowhere is part of the first line about the internet")
    func deadFamily() {
        var explanation = Explanation(target: Explanation.internet, addresses: [], ladders: [], conclusion: .worksBut)
        (explanation.findings, explanation.failingFamilies) = (["IPv4 does not work: no answer"], [.ipv4])
        #expect(
            self.text(explanation) == """
                the internet works, but IPv4 does not
                but        IPv4 does not work: no answer
                """)
    }

    private static let report = DaemonReport(
        targets: [
            .init(name: "api", target: "api.example.com:443", level: "online", reached: true),
            .init(
                name: "db:5432", target: "db:5432", level: "limited", reason: "refused", reached: false,
                lastFailure: .init(party: "theirs", text: "the connection was refused")),
            .init(name: "nas", target: "nas", level: "routed"), .init(name: "vpn", target: "vpn", level: "none"),
        ], diagnosis: .init(firstFailure: "carrier", cause: "noCarrier", since: "2026-11-22T21:54:27.000Z"))

    // Eight seconds after 21:54:27 UTC.
    private static let now = WallTime(microseconds: 1_795_384_475_000_000)

    private func lines(_ explanation: Explanation, _ report: DaemonReport?, isVerbose: Bool = false) -> [String] {
        let daemon = DaemonKnowledge(report: report, missing: "no daemon is there", now: Self.now)
        return ExplanationText.lines(explanation, TextStyle(isColored: false, width: 120), isVerbose: isVerbose, daemon)
    }

    @Test("The targets of a running daemon are listed with their levels, and whose failure one is")
    func targets() {
        let lines = self.lines(ExplanationSamples.reached, Self.report)
        #expect(
            lines.suffix(4) == [
                "target     api (api.example.com:443): online",
                "target     db:5432: not reached: the connection was refused (the server)",
                "target     nas: routed, not checked", "target     vpn: no path, not checked",
            ], "\(lines)")
    }

    @Test("Only -v reports that no daemon runs")
    func noDaemon() {
        let line = "daemon     not asked: no daemon is there"
        #expect(!self.lines(ExplanationSamples.reached, nil).contains(line))
        #expect(self.lines(ExplanationSamples.reached, nil, isVerbose: true).contains(line))
    }

    @Test("A failure that the daemon sees, too, says since when; another one does not")
    func since() {
        #expect(self.lines(ExplanationSamples.cableOut, Self.report).contains("since      21:54:27 UTC (8 s)"))
        let other = self.lines(ExplanationSamples.noSuchName, Self.report)
        #expect(!other.contains { $0.hasPrefix("since") }, "\(other)")
    }

    @Test("What else is worth knowing is the third")
    func findings() {
        #expect(
            self.text(ExplanationSamples.reachedBut) == """
                https://api.example.com/health works: 204 in 12 ms (IPv4); connect 24 ms, TLS 31 ms
                way out    198.51.100.2 via 10.0.0.1 dev eth0 src 10.0.0.2
                but        IPv6 does not work: no address
                """)
    }

    @Test("The ladder of a target that works is shown on request; rungs equal over both versions stand once")
    func verbose() {
        let text = self.text(ExplanationSamples.reached, isVerbose: true)
        #expect(
            text.hasSuffix(
                """
                addresses  198.51.100.2, 2001:db8::2

                IPv4 and IPv6
                  ok   monitor         2 links read from the kernel
                  ok   interface       eth0: index 2, ethernet, admin up
                  ok   carrier         eth0: carrier, operstate up
                  ok   address IPv4    source 10.0.0.2 on eth0
                  ok   address IPv6    source 2001:db8::9 on eth0
                  ok   route IPv4      198.51.100.2 via 10.0.0.1 dev eth0 src 10.0.0.2
                                       by rule 32766: from all lookup main
                  ok   route IPv6      2001:db8::2 via fe80::1 dev eth0 src 2001:db8::9
                  ok   gateway         neighbour 10.0.0.1 dev eth0 lladdr 02:00:5e:10:00:01 REACHABLE
                  ok   dns             api.example.com is 198.51.100.2
                  ?    internet        no internet check is configured
                  ok   tcp             connected to 198.51.100.2:443 in 24 ms
                  ok   tls             handshake in 31 ms
                  ok   http            status 204 after 12 ms
                """), "\(text)")
    }

    @Test("What is wrong comes first, then whose it is and what to do, and the ladder under it")
    func cableOut() {
        #expect(
            self.text(ExplanationSamples.cableOut) == """
                api.example.com:443 does not work: eth0 has no carrier
                fails at   carrier
                whose      this host
                advice     Plug in the cable of eth0, or bring up another link with a default route.
                addresses  none known

                IPv4 and IPv6
                  ok   monitor         2 links read from the kernel
                  ok   interface       eth0: index 2, ethernet, admin up
                  bad  carrier         eth0 has no carrier
                                       eth0: no carrier, operstate down
                  ?    address         not tried: carrier failed
                  ?    route           not tried: carrier failed
                  ?    gateway         not tried: carrier failed
                  ?    dns             not tried: carrier failed
                  ?    internet        not tried: carrier failed
                  ?    tcp             not tried: carrier failed
                  ?    tls             not tried: carrier failed
                  ?    http            not tried: carrier failed
                """)
    }

    @Test("A version of IP in which the target has no address is left out, unless it was asked for")
    func otherFamily() {
        let text = self.text(ExplanationSamples.expired)
        #expect(text.hasPrefix("https://api.example.com/ does not work: the certificate expired\n"))
        #expect(text.contains("fails at   tls over IPv4\nwhose      the server\n"))
        #expect(text.contains("\nIPv4\n") && !text.contains("IPv6"))
        let all = self.text(ExplanationSamples.expired, isVerbose: true)
        #expect(all.contains("IPv4 and IPv6\n") && all.contains("bad  address IPv6    no address"))
    }

    @Test("A version of IP without a way out is left out where the other one has one")
    func noWayOut() {
        let text = self.text(ExplanationSamples.noSuchName)
        #expect(text.contains("\nIPv4\n") && !text.contains("address IPv6"))
        #expect(text.hasPrefix("nosuch.example does not work: nosuch.example does not exist\n"))
    }

    @Test("While it is being checked, each version of IP shows the highest rung that is decided")
    func progress() {
        let lines = ExplanationText.progress(ExplanationSamples.noSuchName, TextStyle(isColored: false, width: 80))
        #expect(
            lines == [
                "  bad  dns             IPv4: nosuch.example does not exist",
                "  bad  address         IPv6: no address",
            ])
    }

    @Test("The ending follows from the conclusion")
    func endings() {
        #expect(CommandError(for: ExplanationSamples.reached) == nil)
        #expect(CommandError(for: ExplanationSamples.reachedBut) == nil)
        #expect(CommandError(for: ExplanationSamples.cableOut) == CommandError(.no))
        var unchecked = ExplanationSamples.cableOut
        unchecked.conclusion = .notChecked
        #expect(CommandError(for: unchecked) == CommandError(.unknown))
        #expect(self.text(unchecked).hasPrefix("api.example.com:443 was not checked"))
    }
}
