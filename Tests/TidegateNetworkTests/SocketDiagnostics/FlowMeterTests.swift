import Testing
import TidegateCore
@testable import TidegateNetwork

/// What lists of sockets, one after the other, say about a connection.
@Suite struct FlowMeterTests {
    private static let address = IPAddress(ipv4: 0xCB00_7102)

    private static func report(_ cookie: UInt64 = 1, _ change: (inout TCPInfo) -> Void = { _ in }) -> SocketReport {
        var info = TCPInfo()
        change(&info)
        let local = SocketReport.Endpoint(address: IPAddress(ipv4: 0x0A00_0002), port: 40_000)
        var report = SocketReport(
            state: .established, local: local, remote: .init(address: self.address, port: 443), cookie: cookie,
            tcp: info)
        (report.inode, report.user) = (7, 1000)
        return report
    }

    private static func time(_ milliseconds: Int64) -> MonotonicTime {
        MonotonicTime(nanoseconds: 0) + .milliseconds(milliseconds)
    }

    @Test("Counts begin with the first list, however much a connection has moved before")
    func growth() throws {
        var meter = FlowMeter()
        meter.add(Self.report { ($0.receivedBytes, $0.receivedDataSegments) = (5_000_000, 4000) }, at: Self.time(0))
        #expect(meter.flows(most: 9) { [:] } == [])
        meter.add(Self.report { ($0.receivedBytes, $0.receivedDataSegments) = (5_100_000, 4080) }, at: Self.time(200))
        let flow = try #require(meter.flows(most: 9) { [7: [SocketProgram(pid: 1, name: "wget")]] }.first)
        #expect(flow.receivedBytes == 100_000 && flow.receivedSegments == 80)
        #expect(flow.time == .milliseconds(200) && flow.samples == 1 && flow.receiveRate == 4_000_000)
        #expect(flow.program == "wget" && flow.address == Self.address)
        #expect(meter.flows(most: 9) { [:] }.first?.program == "a program of uid 1000")
    }

    @Test("A segment that had arrived was not lost, and losses of one second count as one")
    func losses() throws {
        var meter = FlowMeter()
        for (time, lost) in [(0, 10), (200, 12), (400, 15), (1300, 16), (1500, 14), (2600, 14)] as [(Int64, UInt32)] {
            meter.add(
                Self.report { ($0.sentDataSegments, $0.lostSegments) = (UInt32(time) + 100, lost) }, at: Self.time(time)
            )
        }
        let flow = try #require(meter.flows(most: 9) { [:] }.first)
        #expect(
            flow.sentSegments == 2600 && flow.lostSegments == 4 && flow.lossySeconds.count == 2 && flow.countsLosses)
    }

    @Test("Only a round trip of data that was just acknowledged is fresh")
    func roundTrips() throws {
        var meter = FlowMeter()
        for (sent, acknowledged) in [(0, 0), (40, 8), (40, 90), (2500, 8)] as [(UInt32, UInt32)] {
            meter.add(
                Self.report {
                    ($0.lastDataSent, $0.lastAcknowledgement, $0.roundTrip) = (sent, acknowledged, sent + 1)
                    ($0.sentDataSegments, $0.busy) = (1, UInt64(sent) * 1000)
                }, at: Self.time(Int64(sent)))
        }
        let flow = try #require(meter.flows(most: 9) { [:] }.first)
        #expect(flow.roundTrips == [.microseconds(41)])
    }

    @Test("Connections that hold data are kept, idle ones are not, and those that moved most come first")
    func order() {
        var meter = FlowMeter()
        for time in [0, 200] as [Int64] {
            for cookie in 1...4 as ClosedRange<UInt64> {
                var report = Self.report(cookie) { $0.sentDataSegments = UInt32(cookie - 1) / 2 * UInt32(time) }
                report.receiveQueue = cookie == 1 ? 5000 : 0
                report.inode = UInt32(cookie)
                meter.add(report, at: Self.time(time))
            }
        }
        let flows = meter.flows(most: 2) { [:] }
        #expect(flows.map(\.sentSegments) == [200, 200])
        #expect(meter.flows(most: 9) { [:] }.map(\.unreadBytes) == [0, 0, 5000])
    }
}
