@testable internal import TidegateNetwork
internal import Testing
internal import TidegateCore

/// When a hop walk is over, and what it reports.
@Suite struct HopWalkMachineTests {
    private var machine: HopWalkMachine
    private let destination: IPAddress

    init() throws {
        self.destination = try #require(IPAddress("203.0.113.10"))
        self.machine = HopWalkMachine(
            to: self.destination, port: 443, maximumHops: 5, start: Self.moment(0), within: .seconds(1))
    }

    private static func moment(_ milliseconds: Int) -> MonotonicTime {
        MonotonicTime(nanoseconds: 0) + .milliseconds(milliseconds)
    }

    private func answer(_ router: String, _ type: UInt8, _ code: UInt8 = 0) throws -> HopWalkResult.Outcome {
        let address = try #require(IPAddress(router))
        return .answered(ICMPError(offender: address, type: type, code: code), by: address, after: .milliseconds(1))
    }

    private mutating func record(
        _ outcome: HopWalkResult.Outcome, _ transport: HopWalkMachine.Transport, _ limit: Int, at time: Int = 1
    ) {
        self.machine.record(
            outcome, for: HopWalkMachine.Probe(limit: limit, transport: transport), at: Self.moment(time))
    }

    private func isWanted(_ transport: HopWalkMachine.Transport, _ limit: Int) -> Bool {
        self.machine.isWanted(HopWalkMachine.Probe(limit: limit, transport: transport))
    }

    @Test("Low hop limits are sent first, by both transports")
    func order() {
        #expect(self.machine.probes.map(\.limit) == [1, 1, 2, 2, 3, 3, 4, 4, 5, 5])
        #expect(self.machine.probes.prefix(2).map(\.transport) == [.tcp, .udp])
    }

    @Test("With the destination and every nearer router known, the walk is over, and higher limits are not reported")
    mutating func reached() throws {
        self.record(.reached(.refused, after: .milliseconds(2)), .tcp, 4)
        #expect(!self.isWanted(.udp, 5) && !self.isWanted(.tcp, 5) && !self.isWanted(.udp, 4))
        self.record(.reached(.refused, after: .milliseconds(1)), .udp, 3)
        #expect(self.isWanted(.tcp, 3), "whether the port accepts connections only TCP says")
        self.record(.reached(.connected, after: .milliseconds(1)), .tcp, 3)
        self.record(try self.answer("10.0.0.1", 11), .udp, 1)
        #expect(self.isWanted(.tcp, 1), "whether a filter lets TCP pass")
        self.record(try self.answer("10.0.0.1", 11), .tcp, 1)
        #expect(!self.machine.isOver)
        self.record(try self.answer("10.0.0.2", 11), .tcp, 2)
        #expect(!self.isWanted(.udp, 2), "UDP would say the same")
        #expect(self.machine.isOver)
        let result = self.machine.result(at: Self.moment(7))
        #expect(result.hops.count == 3 && result.arrival?.hop == 3)
        #expect(result.arrival?.how == .connected)
        #expect(result.duration == .milliseconds(7))
    }

    @Test("TCP is lost on this host if routers answer only UDP")
    mutating func lostTCP() throws {
        #expect(!self.machine.result(at: Self.moment(1)).isTCPLost, "nothing is answered")
        self.record(try self.answer("10.0.0.1", 11), .udp, 1)
        self.record(.reached(.datagram, after: .milliseconds(1)), .udp, 3)
        #expect(self.machine.result(at: Self.moment(1)).isTCPLost)
        self.record(try self.answer("10.0.0.2", 11), .tcp, 2)
        #expect(!self.machine.result(at: Self.moment(1)).isTCPLost)
    }

    @Test("TCP ends at the last router that answers it, if one beyond answers UDP; a silent server's TCP does not")
    mutating func filteredTCP() throws {
        let first = try #require(IPAddress("10.0.0.1"))
        self.record(try self.answer("10.0.0.1", 11), .tcp, 1)
        self.record(.reached(.datagram, after: .milliseconds(1)), .udp, 3)
        #expect(self.machine.result(at: Self.moment(1)).tcpEnd == nil, "the server may drop TCP itself")
        self.record(try self.answer("10.0.0.2", 11), .udp, 2)
        #expect(self.machine.result(at: Self.moment(1)).tcpEnd == first)
        self.record(try self.answer("10.0.0.2", 11), .tcp, 2)
        #expect(self.machine.result(at: Self.moment(1)).tcpEnd == nil)
    }

    @Test("A destination that answers only UDP may drop TCP itself")
    mutating func destinationDropsTCP() {
        self.record(.reached(.datagram, after: .milliseconds(1)), .udp, 3)
        #expect(!self.machine.result(at: Self.moment(1)).isTCPLost)
    }

    @Test("Silent routers before the destination are waited for as long again as it took, 50 ms at least")
    mutating func grace() {
        self.record(.reached(.connected, after: .milliseconds(2)), .tcp, 3, at: 2)
        #expect(self.machine.deadline == Self.moment(52) && !self.machine.isOver)
        self.record(.reached(.connected, after: .milliseconds(3)), .tcp, 2, at: 40)
        #expect(self.machine.deadline == Self.moment(52), "it is not put off again")
    }

    @Test("The end of the path does not put the limit off")
    mutating func limit() {
        self.record(.reached(.connected, after: .milliseconds(900)), .tcp, 3, at: 900)
        #expect(self.machine.deadline == Self.moment(1000))
    }

    @Test("A router that forwards one transport no further ends the walk of that transport only")
    mutating func filtered() throws {
        self.record(try self.answer("10.0.0.2", 3, 13), .udp, 2)
        #expect(self.isWanted(.tcp, 5) && !self.isWanted(.udp, 3) && self.isWanted(.udp, 1) && self.isWanted(.tcp, 2))
        #expect(self.machine.deadline == Self.moment(1000))
        self.record(try self.answer("10.0.0.2", 11), .tcp, 2)
        self.record(try self.answer("10.0.0.3", 11), .tcp, 3)
        let result = self.machine.result(at: Self.moment(9))
        #expect(result.hops.count == 5 && result.lastAnswer?.hop == 3)
        #expect(result.answers.first?.error.kind == .timeExceeded, "it says more than the filter does")
    }

    @Test("A router that forwards nothing further ends the walk")
    mutating func noRoute() throws {
        self.record(try self.answer("10.0.0.1", 3), .tcp, 1)
        #expect(!self.machine.isOver)
        self.record(try self.answer("10.0.0.1", 3), .udp, 1)
        #expect(self.machine.isOver)
        #expect(self.machine.result(at: Self.moment(1)).hops.count == 1)
    }

    @Test("What cannot be sent is not tried with higher limits")
    mutating func failed() {
        self.record(.failed(101), .tcp, 1, at: 0)
        self.record(.failed(101), .udp, 1, at: 0)
        #expect(self.machine.isOver && self.machine.result(at: Self.moment(0)).failure == 101)
    }

    @Test("Packets that go in circles end the walk when every limit was answered")
    mutating func circle() throws {
        for limit in 1...5 {
            #expect(!self.machine.isOver)
            self.record(try self.answer("10.0.0.\(limit % 2)", 11), .tcp, limit)
        }
        #expect(self.machine.isOver && self.machine.result(at: Self.moment(1)).loop.count == 2)
    }
}
