internal import Synchronization
internal import Testing
internal import TidegateCore
internal import TidegateTestKit
internal import TidegateTransfer

/// What ICMP says about attempts, between namespaces.
@Suite(
    "Refusals", .enabled(if: NetworkNamespace.isAvailable, "network namespaces need root and ip(8)"),
    .timeLimit(.minutes(5)))
struct RefusalScenarioTests {
    private let hosts: ThreeHosts
    private let recorder: AttemptRecorder

    init() throws {
        self.hosts = try ThreeHosts()
        self.recorder = try AttemptRecorder(in: self.hosts.here)
    }

    private func request(_ number: UInt64, _ addresses: String...) throws -> AttemptRequest {
        var request = try AttemptRequest(number, "http://tide.invalid/")
        request.addresses = addresses.compactMap { IPAddress($0) }
        return request
    }

    @Test("A gateway without a route is named, with the address it was about", arguments: [true, false])
    func noRoute(isIPv4: Bool) throws {
        let address = isIPv4 ? "203.0.113.1" : "2001:db8:f::1"
        let outcome = try self.recorder.run(self.request(1, address))
        #expect(outcome.failure == .connectFailed)
        #expect(outcome.socketError == .networkUnreachable)
        let gateway = IPAddress(isIPv4 ? ThreeHosts.gatewayAddress.ipv4 : ThreeHosts.gatewayAddress.ipv6)
        #expect(outcome.refusal == ICMPError(offender: gateway, type: isIPv4 ? 3 : 1, code: 0))
        #expect(outcome.peer == IPAddress(address))
        #expect(outcome.failedConnect?.local == IPAddress(isIPv4 ? "10.0.0.2" : "2001:db8::2"))
        #expect(outcome.failedConnect?.isImmediate == false)
        #expect(!outcome.isConnected)
    }

    @Test("Without a route of our own the kernel refuses at once, and no router is named")
    func own() throws {
        try self.hosts.here.ip("route del default")
        let outcome = try self.recorder.run(self.request(1, "198.51.100.2"))
        #expect(outcome.socketError == .networkUnreachable)
        #expect(outcome.refusal == nil)
        #expect(outcome.failedConnect?.isImmediate == true)
    }

    @Test("Of several addresses the one that came furthest counts, in whatever order")
    func furthest() throws {
        try self.hosts.here.ip("-6 route del default")
        let (refused, unrouted) = (ThreeHosts.farAddress.ipv4, ThreeHosts.farAddress.ipv6)
        for (number, addresses) in [(1, [refused, unrouted]), (2, [unrouted, refused])] as [(UInt64, [String])] {
            self.recorder.perform { $0.beginPool() }
            var request = try AttemptRequest(number, "http://tide.invalid/")
            request.addresses = addresses.compactMap { IPAddress($0) }
            let outcome = try self.recorder.run(request)
            #expect(outcome.socketError == .refused, "\(addresses)")
            #expect(outcome.peer == IPAddress(refused), "\(addresses)")
        }
    }

    @Test("An address that a router refuses leaves the other ones their chance")
    func otherAddress() throws {
        let server = try LiveServer.inside(self.hosts.far) { _ in .respond(text: "tide") }
        defer { server.stop() }
        var request = try AttemptRequest(1, "http://tide.invalid:\(server.port)/")
        request.addresses = ["203.0.113.1", "198.51.100.2"].compactMap { IPAddress($0) }
        let outcome = try self.recorder.run(request)
        #expect(outcome.failure == nil)
        #expect(outcome.refusal == nil)
        #expect(outcome.isConnected)
        #expect(outcome.connection?.remote == IPAddress("198.51.100.2"))
    }

    @Test("A router's passing error does not end a transfer that stands")
    func passingError() throws {
        let more = Latch()
        let body = Int64(200_000)
        let server = try LiveServer.inside(self.hosts.far) { _ in
            LiveServerAnswer([
                .send(LiveServerAnswer.head(200, ["Content-Length: \(body)"])), .pattern(from: 0, count: 1000),
                .waitFor(more), .pattern(from: 1000, count: body - 1000),
            ])
        }
        defer { server.stop() }
        let request = try AttemptRequest(1, "http://198.51.100.2:\(server.port)/")
        self.recorder.start(request)
        try eventually("the first bytes") { try self.recorder.received(by: request.id) == 1000 }
        let before = try self.hosts.here.unreachablesReceived()
        try self.hosts.gateway.ip("route add prohibit 198.51.100.2/32")
        more.open()
        // Every acknowledgement is answered with an error now.
        try eventually("an ICMP error") { try self.hosts.here.unreachablesReceived() > before }
        try self.hosts.gateway.ip("route del prohibit 198.51.100.2/32")
        let outcome = try self.recorder.outcome(of: request.id)
        #expect(outcome.failure == nil)
        #expect(outcome.body == LiveServerAnswer.bytes(count: body))
    }

    @Test("Silence is reported with the address and the SYNs it was sent")
    func silence() throws {
        try ThreeHosts.filter(
            self.hosts.gateway, "table inet t { chain f { type filter hook forward priority 0; policy drop; }; }")
        var request = try self.request(1, "198.51.100.2")
        request.connectTimeout = .milliseconds(1500)
        let outcome = try self.recorder.run(request)
        #expect(outcome.failure == .timedOut)
        #expect(outcome.socketError == nil)
        #expect(outcome.peer == IPAddress("198.51.100.2"))
        #expect(outcome.failedConnect?.retransmits == 1)
        request = try self.request(2, "198.51.100.2")
        self.recorder.start(request)
        let id = request.id
        try eventually("a try") { try self.recorder.ask { $0.failedConnect(of: id)?.retransmits } == 1 }
        self.recorder.perform { $0.end(id, as: .timedOut, "we wait no longer") }
        let ended = try self.recorder.outcome(of: id)
        #expect(ended.text == "we wait no longer")
        #expect(ended.peer == IPAddress("198.51.100.2"))
    }
}

private final class Made: Sendable {
    let server = Mutex<LiveServer?>(nil)
}

extension LiveServer {
    /// A server on every IPv4 address of a namespace.
    static func inside(
        _ namespace: NetworkNamespace, answer: @escaping @Sendable (LiveServerRequest) -> LiveServerAnswer
    ) throws -> LiveServer {
        let made = Made()
        try namespace.inside { made.server.withLock { $0 = try? LiveServer(address: "0.0.0.0", answer: answer) } }
        guard let server = made.server.withLock({ $0 }) else { throw NothingCame(description: "no server") }
        return server
    }
}

extension NetworkNamespace {
    /// How many destination unreachable messages were received (InDestUnreachs of /proc/net/snmp).
    func unreachablesReceived() throws -> Int {
        let text = NamespaceCommand.run(["ip", "netns", "exec", self.name, "cat", "/proc/net/snmp"]).output
        let lines = text.split(separator: "\n").filter { $0.hasPrefix("Icmp:") }.map { $0.split(separator: " ") }
        guard lines.count == 2, let column = lines[0].firstIndex(of: "InDestUnreachs") else {
            throw NothingCame(description: "no counter in \(text)")
        }
        return Int(lines[1][column]) ?? 0
    }
}
