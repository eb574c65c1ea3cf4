import Testing
import Tidegate

@testable import TidegateCLI

@Suite struct ExplanationTextTests {
    private func text(_ explanation: Explanation) -> String {
        ExplanationText.lines(explanation, TextStyle(isColored: false, width: 120)).joined(separator: "\n")
    }

    @Test("A target that answers over one family")
    func reached() {
        #expect(
            self.text(ExplanationSamples.reached) == """
                target     https://api.example.com/health
                addresses  198.51.100.2, 2001:db8::2

                IPv4
                  ok   monitor    events, consistent
                  ok   interface  eth0, index 2, ethernet, admin up
                  ok   carrier    operstate up
                  ok   address    10.0.0.2/24 on eth0
                  ok   route      198.51.100.2 via 10.0.0.1 dev eth0 src 10.0.0.2, table main
                                  rule 32766: from all lookup main
                                  loses: default via 192.168.1.1 dev wlan0 table main metric 600 (higher metric)
                  ok   gateway    10.0.0.1 is 02:00:5e:10:00:01, reachable
                  ok   dns        192.0.2.53 answered in 12 ms: 198.51.100.2, 300 s to live
                  ?    internet
                  ok   tcp        198.51.100.2:443 connected in 24 ms
                  ok   tls        certificate of api.example.com until Nov 21 12:00:00 2027 GMT
                  ok   http       204 in 31 ms

                IPv6
                  ok   monitor
                  ok   interface
                  ok   carrier
                  bad  address    no address
                                  eth0 has fe80::1/64 only
                  ?    route
                  ?    gateway
                  ?    dns
                  ?    internet
                  ?    tcp
                  ?    tls
                  ?    http

                fails at   nothing over IPv4; address over IPv6: no address
                advice     The target answers over IPv4; IPv6 has no address here.
                """)
    }

    @Test("A cable that is out")
    func cableOut() {
        #expect(
            self.text(ExplanationSamples.cableOut) == """
                target     api.example.com:443
                addresses  none known

                IPv4
                  ok   monitor    events, consistent
                  ok   interface  eth0, index 2, ethernet, admin up
                  bad  carrier    the link has no carrier
                                  eth0 is admin up and has operstate down
                  ?    address
                  ?    route
                  ?    gateway
                  ?    dns
                  ?    internet
                  ?    tcp
                  ?    tls
                  ?    http

                IPv6
                  ok   monitor    events, consistent
                  ok   interface  eth0, index 2, ethernet, admin up
                  bad  carrier    the link has no carrier
                                  eth0 is admin up and has operstate down
                  ?    address
                  ?    route
                  ?    gateway
                  ?    dns
                  ?    internet
                  ?    tcp
                  ?    tls
                  ?    http

                fails at   carrier: the link has no carrier
                whose      this host
                advice     Plug in the cable of eth0, or look at the switch port on its other end.
                """)
    }

    @Test("A captive portal")
    func portal() {
        #expect(
            self.text(ExplanationSamples.portal) == """
                target     http://example.com/
                addresses  198.51.100.2

                IPv4
                  ok   monitor    events, consistent
                  ok   interface  eth0, index 2, ethernet, admin up
                  ok   carrier    operstate up
                  ok   address    10.0.0.2/24 on eth0
                  ok   route      198.51.100.2 via 10.0.0.1 dev eth0 src 10.0.0.2, table main
                                  rule 32766: from all lookup main
                                  loses: default via 192.168.1.1 dev wlan0 table main metric 600 (higher metric)
                  ok   gateway    10.0.0.1 is 02:00:5e:10:00:01, reachable
                  ok   dns        192.0.2.53 answered in 12 ms: 198.51.100.2, 300 s to live
                  bad  internet   a captive portal answers
                                  http://connectivity.example/generate_204 answered 302 with Location:
                                    http://portal.example/login?continue=http%3A%2F%2Fexample.com%2Fa%2Fbhttp%3A%2F%
                                    2Fexample.com%2Fa%2Fbhttp%3A%2F%2Fexample.com%2Fa%2Fbhttp%3A%2F%2Fexample.com%2F
                                    a%2Fb
                  ?    tcp
                  -    tls        not applicable
                  ?    http

                IPv6
                  ok   monitor
                  ok   interface
                  ok   carrier
                  bad  address    no address
                                  eth0 has fe80::1/64 only
                  ?    route
                  ?    gateway
                  ?    dns
                  ?    internet
                  ?    tcp
                  ?    tls
                  ?    http

                fails at   internet over IPv4: a captive portal answers
                whose      your provider
                advice     Open any http:// page in a browser and sign in at the captive portal.
                """)
    }

    @Test("A certificate that has expired")
    func expired() {
        #expect(
            self.text(ExplanationSamples.expired) == """
                target     https://api.example.com/
                addresses  198.51.100.2

                IPv4
                  ok   monitor    events, consistent
                  ok   interface  eth0, index 2, ethernet, admin up
                  ok   carrier    operstate up
                  ok   address    10.0.0.2/24 on eth0
                  ok   route      198.51.100.2 via 10.0.0.1 dev eth0 src 10.0.0.2, table main
                                  rule 32766: from all lookup main
                                  loses: default via 192.168.1.1 dev wlan0 table main metric 600 (higher metric)
                  ok   gateway    10.0.0.1 is 02:00:5e:10:00:01, reachable
                  ok   dns        192.0.2.53 answered in 12 ms: 198.51.100.2, 300 s to live
                  -    internet   not applicable
                  ok   tcp        connected in 24 ms
                  bad  tls        TLS failed
                                  certificate has expired: api.example.com until Nov 20 12:00:00 2025 GMT, signed
                                    by Example CA
                  ?    http

                IPv6
                  ok   monitor
                  ok   interface
                  ok   carrier
                  bad  address    no address
                                  eth0 has fe80::1/64 only
                  ?    route
                  ?    gateway
                  ?    dns
                  ?    internet
                  ?    tcp
                  ?    tls
                  ?    http

                fails at   tls over IPv4: TLS failed
                whose      the server
                advice     Ask whoever runs api.example.com to renew its certificate, or set this host's clock.
                """)
    }

    @Test("A gateway that is not there")
    func silentGateway() {
        #expect(
            self.text(ExplanationSamples.silentGateway) == """
                target     198.51.100.2:443

                IPv4
                  ok   monitor    events, consistent
                  ok   interface  eth0, index 2, ethernet, admin up
                  ok   carrier    operstate up
                  ok   address    10.0.0.2/24 on eth0
                  ok   route      198.51.100.2 via 10.0.0.1 dev eth0 src 10.0.0.2, table main
                                  rule 32766: from all lookup main
                                  loses: default via 192.168.1.1 dev wlan0 table main metric 600 (higher metric)
                  bad  gateway    the gateway is not found on the link
                                  10.0.0.1 on eth0 is failed in the neighbour table
                                  no answer to a UDP poke at port 9
                  ?    dns
                  ?    internet
                  ?    tcp
                  ?    tls
                  ?    http

                IPv6
                  ok   monitor
                  ok   interface
                  ok   carrier
                  bad  address    no address
                                  eth0 has fe80::1/64 only
                  ?    route
                  ?    gateway
                  ?    dns
                  ?    internet
                  ?    tcp
                  ?    tls
                  ?    http

                fails at   gateway over IPv4: the gateway is not found on the link
                whose      your router
                advice     Restart the router at 10.0.0.1, or check its cable.
                """)
    }

    @Test("A name that does not exist")
    func noSuchName() {
        #expect(
            self.text(ExplanationSamples.noSuchName) == """
                target     nosuch.example
                addresses  none known

                IPv4
                  ok   monitor    events, consistent
                  ok   interface  eth0, index 2, ethernet, admin up
                  ok   carrier    operstate up
                  ok   address    10.0.0.2/24 on eth0
                  ok   route      198.51.100.2 via 10.0.0.1 dev eth0 src 10.0.0.2, table main
                                  rule 32766: from all lookup main
                                  loses: default via 192.168.1.1 dev wlan0 table main metric 600 (higher metric)
                  ok   gateway    10.0.0.1 is 02:00:5e:10:00:01, reachable
                  bad  dns        the name does not exist
                                  192.0.2.53 says NXDOMAIN after 9 ms
                  ?    internet
                  ?    tcp
                  ?    tls
                  ?    http

                IPv6
                  ok   monitor
                  ok   interface
                  ok   carrier
                  bad  address    no address
                                  eth0 has fe80::1/64 only
                  ?    route
                  ?    gateway
                  ?    dns
                  ?    internet
                  ?    tcp
                  ?    tls
                  ?    http

                fails at   dns over IPv4: the name does not exist
                whose      the server
                advice     Check how the name is written.
                """)
    }

    @Test("The ending follows from what was found")
    func endings() {
        #expect(CommandError(for: ExplanationSamples.reached) == nil)
        #expect(CommandError(for: ExplanationSamples.cableOut) == CommandError(.no))
        var unavailable = ExplanationSamples.cableOut
        unavailable.firstFailure = RungReport(rung: .monitor, status: .bad, reason: .monitorDown)
        #expect(CommandError(for: unavailable) == CommandError(.unknown))
        var untold = ExplanationSamples.noSuchName
        (untold.firstFailure, untold.party) = (nil, .unknown)
        #expect(CommandError(for: untold) == CommandError(.unknown))
    }
}
