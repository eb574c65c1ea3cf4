import Testing
import TidegateCore
import TidegateNetwork

/// The kernel's counters of TCP, as its files have them.
struct TCPCountersTests {
    private static let snmp = """
        Ip: Forwarding DefaultTTL
        Ip: 1 64
        Icmp: InMsgs InErrors InDestUnreachs
        Icmp: 9 0 8
        Tcp: RtoAlgorithm RtoMin RtoMax MaxConn ActiveOpens PassiveOpens AttemptFails EstabResets CurrEstab InSegs OutSegs RetransSegs InErrs OutRsts InCsumErrors
        Tcp: 1 200 120000 -1 11 12 13 14 3 100 200 16 0 15 0
        """
    private static let netstat = """
        TcpExt: SyncookiesSent ListenOverflows TCPAbortOnTimeout TCPAbortOnClose TCPSynRetrans
        TcpExt: 0 21 22 23 24
        IpExt: InNoRoutes
        IpExt: 5
        """

    @Test("Every counter is found by its name, wherever its column is")
    func names() throws {
        let counters = try #require(TCPCounters(snmp: Self.snmp, netstat: Self.netstat))
        #expect(counters.activeOpens == 11)
        #expect(counters.established == 3)
        #expect(counters.passiveOpens == 12)
        #expect(counters.attemptFails == 13)
        #expect(counters.establishedResets == 14)
        #expect(counters.sentResets == 15)
        #expect(counters.retransmittedSegments == 16)
        #expect(counters.listenOverflows == 21)
        #expect(counters.timeoutAborts == 22)
        #expect(counters.closeAborts == 23)
        #expect(counters.synRetransmits == 24)
        #expect(counters.unreachableMessages == 8)
    }

    @Test("Messages of both versions of ICMP about something unreachable count")
    func versions() throws {
        let snmp6 = "Icmp6InErrors                   \t1\nIcmp6InDestUnreachs             \t5\nIcmp6InPktTooBigs \t9\n"
        #expect(try #require(TCPCounters(snmp: Self.snmp, netstat: "", snmp6: snmp6)).unreachableMessages == 13)
        let cut = "Icmp6InDestUnreachs"
        #expect(try #require(TCPCounters(snmp: Self.snmp, netstat: "", snmp6: cut)).unreachableMessages == 8)
    }

    @Test("Without a line of TCP there are no counters; without the second file some are zero")
    func missing() throws {
        #expect(TCPCounters(snmp: "", netstat: Self.netstat) == nil)
        #expect(TCPCounters(snmp: "Tcp: RtoMin\nTcp: 200", netstat: "") == nil)
        let counters = try #require(TCPCounters(snmp: Self.snmp, netstat: ""))
        #expect(counters.activeOpens == 11)
        #expect(counters.timeoutAborts == 0)
    }
}
