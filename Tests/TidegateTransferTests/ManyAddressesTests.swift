internal import Testing
internal import TidegateCore
internal import TidegateTestKit
internal import TidegateTransfer

/// Names with several addresses, most of them dead.
@Suite(
    "Many addresses", .enabled(if: NetworkNamespace.isAvailable, "network namespaces need root and ip(8)"),
    .timeLimit(.minutes(5)))
struct ManyAddressesTests {
    private let hosts: ThreeHosts
    private let listener: NetworkNamespaceListener
    private let recorder: AttemptRecorder

    init() throws {
        self.hosts = try ThreeHosts()
        // What is sent to the others gets no answer of any kind.
        try ThreeHosts.filter(
            self.hosts.far,
            "table ip t { chain i { type filter hook input priority 0; ip daddr 198.51.100.64/26 drop; }; }")
        for last in 65..<73 { try self.hosts.far.ip("addr add 198.51.100.\(last)/32 dev s0") }
        self.listener = try NetworkNamespaceListener(port: 8080, in: self.hosts.far)
        self.recorder = try AttemptRecorder(in: self.hosts.here)
    }

    private func request(_ number: UInt64, _ addresses: [String], timeout: Duration) throws -> AttemptRequest {
        var request = try AttemptRequest(number, "http://tide.invalid:8080/")
        request.addresses = addresses.compactMap { IPAddress($0) }
        request.connectTimeout = timeout
        request.lastStage = .connect
        return request
    }

    @Test(
        "The one living address of eight is reached within the connect timeout, wherever it stands", arguments: [2, 7])
    func eight(_ position: Int) throws {
        var addresses = (65..<72).map { "198.51.100.\($0)" }
        addresses.insert(ThreeHosts.farAddress.ipv4, at: position)
        let outcome = try self.recorder.run(self.request(1, addresses, timeout: .seconds(9)))
        #expect(outcome.failure == nil, "\(outcome.text)")
        #expect(outcome.connectedTo == IPAddress(ThreeHosts.farAddress.ipv4))
        #expect(outcome.silentAddresses == addresses.prefix(position).compactMap { IPAddress($0) })
    }

    @Test("Of three dead addresses each had its share of the connect timeout, and is named as silent")
    func allDead() throws {
        let addresses = (65..<68).map { "198.51.100.\($0)" }
        let outcome = try self.recorder.run(self.request(1, addresses, timeout: .seconds(5)))
        #expect(outcome.failure == .timedOut)
        #expect(Set(outcome.silentAddresses) == Set(addresses.compactMap { IPAddress($0) }))
        #expect(outcome.refusal == nil)
    }
}
