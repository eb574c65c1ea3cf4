internal import Testing
@testable internal import TidegateCore
internal import TidegateTestKit

@testable internal import TidegateReachability

/// What requests that succeeded leave behind for the ladder.
struct LadderPassiveTests {
    private let time = ManualTime()
    private let evidence = PassiveEvidence()

    private func succeeded(
        _ local: String, _ remote: String, tls: Bool = false, connect: Duration? = nil, after start: Duration = .zero
    ) throws {
        let now = self.time.monotonic()
        self.evidence.record(
            .init(
                from: try address(local), to: try address(remote), isEncrypted: tls, connect: connect,
                start: now - start, end: now))
    }

    @Test("A success counts for 30 s, and only for the address it came from")
    func lifetime() throws {
        try self.succeeded("10.0.0.2", "198.51.100.2")
        self.time.advance(by: .seconds(4))
        let trace = self.evidence.fresh(from: try address("10.0.0.2"), at: self.time.monotonic())
        #expect(trace?.answered == .seconds(4))
        #expect(self.evidence.fresh(from: try address("10.0.0.3"), at: self.time.monotonic()) == nil)
        #expect(self.evidence.fresh(from: nil, at: self.time.monotonic()) == nil)
        self.time.advance(by: .seconds(27))
        #expect(self.evidence.fresh(from: try address("10.0.0.2"), at: self.time.monotonic()) == nil)
    }

    @Test("Only TLS with a global address shows the internet")
    func kinds() throws {
        let own = try address("10.0.0.2")
        try self.succeeded("10.0.0.2", "192.168.1.1", tls: true)
        try self.succeeded("10.0.0.2", "8.8.8.8")
        #expect(self.evidence.fresh(from: own, at: self.time.monotonic())?.internet == nil)
        try self.succeeded("10.0.0.2", "8.8.8.8", tls: true)
        let trace = self.evidence.fresh(from: own, at: self.time.monotonic())
        #expect(trace?.internet != nil)
        self.time.advance(by: .seconds(20))
        try self.succeeded("10.0.0.2", "8.8.8.8")
        self.time.advance(by: .seconds(20))
        let later = self.evidence.fresh(from: own, at: self.time.monotonic())
        #expect(later != nil && later?.internet == nil, "the answer is fresh, the handshake is not")
    }

    @Test("A doubt about one version of IP, or about both, ends what was known of them")
    func doubt() throws {
        let (own4, own6) = (try address("10.0.0.2"), try address("2001:db8::2"))
        func known(_ source: IPAddress) -> Bool { self.evidence.fresh(from: source, at: self.time.monotonic()) != nil }
        try self.succeeded("10.0.0.2", "198.51.100.2")
        try self.succeeded("2001:db8::2", "2001:db8:9::1")
        self.evidence.doubt(.ipv4)
        #expect(!known(own4) && known(own6))
        self.evidence.doubt(nil)
        #expect(!known(own6))
    }

    @Test("Many source addresses do not grow it; the quietest one goes")
    func bound() throws {
        for host in 1...20 {
            self.time.advance(by: .milliseconds(1))
            try self.succeeded("10.0.0.\(host)", "8.8.8.8")
        }
        #expect(self.evidence.fresh(from: try address("10.0.0.12"), at: self.time.monotonic()) == nil)
        #expect(self.evidence.fresh(from: try address("10.0.0.13"), at: self.time.monotonic()) != nil)
        #expect(self.evidence.fresh(from: try address("10.0.0.20"), at: self.time.monotonic()) != nil)
    }

    @Test("Failures are passed on at most once a second")
    func failures() {
        func count() -> Int { (0..<100).count { _ in self.evidence.isNewFailure(at: self.time.monotonic()) } }
        #expect(count() == 1)
        self.time.advance(by: .seconds(1))
        #expect(count() == 1)
    }

    @Test(
        "What is global",
        arguments: [
            ("8.8.8.8", true), ("198.51.100.2", true), ("10.1.2.3", false), ("172.16.0.1", false), ("172.32.0.1", true),
            ("192.168.0.1", false), ("100.64.0.1", false), ("100.128.0.1", true), ("127.0.0.1", false),
            ("169.254.1.1", false), ("0.0.0.0", false), ("2001:db8::1", true), ("fd00::1", false), ("fe80::1", false),
            ("::1", false), ("ff02::1", false),
        ])
    func global(_ text: String, _ isGlobal: Bool) throws {
        #expect(try address(text).isGlobal == isGlobal)
    }
}
