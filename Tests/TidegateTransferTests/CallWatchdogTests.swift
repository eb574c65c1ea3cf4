internal import Glibc
internal import Testing
internal import TidegateCore
internal import TidegateTestKit
@testable internal import TidegateTransfer

@Suite("A call of libcurl that does not end", .timeLimit(.minutes(5)))
struct CallWatchdogTests {
    @Test("A proxy that refuses without an end is a protocol error, and other attempts go on")
    func proxyRefusesForEver() throws {
        let proxy = try LiveServer { _ in
            LiveServerAnswer([
                .send(LiveServerAnswer.head(407, ["Content-Length: 900000000000"])),
                .flood(Array(repeating: 0x78, count: 1 << 20)),
            ])
        }
        defer { proxy.stop() }
        let mayAnswer = Latch()
        let server = try LiveServer { _ in
            LiveServerAnswer([.waitFor(mayAnswer)] + LiveServerAnswer.respond(text: "ok").steps)
        }
        defer { server.stop() }
        let recorder = try AttemptRecorder()
        recorder.start(try AttemptRequest(1, server.url()))
        var request = try AttemptRequest(2, "https://tide.invalid/")
        request.proxy = try Proxy(proxy.url())
        let outcome = try recorder.run(request)
        #expect(outcome.failure == .protocolError)
        #expect(outcome.text == "the server sent without an end what is read in one go")
        mayAnswer.open()
        #expect(try recorder.outcome(of: AttemptID(1)).body == Array("ok".utf8))
    }

    @Test(
        "A server of HTTP/2 whose frames carry nothing is a protocol error",
        .enabled(if: TestAuthority.isAvailable && HTTP2Server.isAvailable, "openssl or python3 is not installed"),
        arguments: HTTP2Server.tricks)
    func emptyFrames(_ trick: HTTP2Server.Trick) async throws {
        let authority = try await TestAuthority()
        let server = try await HTTP2Server(trick, identity: try await authority.sign(["localhost"]))
        var request = try AttemptRequest(1, "https://localhost:\(server.port)/")
        request.allowsHTTP2 = true
        request.tls.caFile = authority.certificate
        let outcome = try AttemptRecorder().run(request)
        #expect(outcome.failure == .protocolError, "\(outcome.text)")
        #expect(outcome.head?.status == 200)
    }

    @Test("A few kilobytes of Brotli that become gigabytes are a protocol error")
    func brotliBomb() throws {
        // Each block of 14 bytes is 16 MiB of zeros.
        let start: [UInt8] = [0xCF, 0xFF, 0xFF, 0x7F, 0x00, 0x24, 0x00, 0xE2, 0xB1, 0x40, 0x72, 0xEF, 0xFF, 0x0D]
        let block: [UInt8] = [0xFC, 0xFF, 0xFF, 0x07, 0x40, 0x02, 0x20, 0x0E, 0x0B, 0x40, 0xF7, 0xFE, 0xDF, 0x00]
        let body = start + Array(repeatElement(block, count: 4000).joined()) + [0x03]
        let server = try LiveServer { _ in .respond(200, ["Content-Encoding: br"], body: body) }
        defer { server.stop() }
        var request = try AttemptRequest(1, server.url(), .discard)
        request.acceptsCompression = true
        let outcome = try AttemptRecorder().run(request)
        #expect(outcome.failure == .protocolError)
        #expect(outcome.text == "the server sent without an end what is read in one go")
    }

    @Test("Only a call that uses processor time for two seconds is ended, and at last with all sockets of its pool")
    func decisions() {
        var sample = CallSample()
        #expect(sample.look(at: 1, processorTime: .seconds(10)) == .goOn)
        #expect(sample.look(at: 1, processorTime: .seconds(11)) == .goOn)
        #expect(sample.look(at: 1, processorTime: .seconds(11)) == .goOn, "the process was stopped")
        #expect(sample.look(at: 3, processorTime: .seconds(13)) == .goOn, "another call")
        #expect(sample.look(at: 3, processorTime: .seconds(15)) == .endCall(isLastResort: false))
        #expect(sample.look(at: 3, processorTime: .seconds(16)) == .endCall(isLastResort: true))
        #expect(sample.look(at: nil, processorTime: .seconds(16)) == .goOn)
    }

    @Test("In a call each transfer has its own time, and an end is that of one transfer", arguments: [nil, 7])
    func transfers(_ descriptor: Int32?) {
        let record = CurlCallRecord()
        _ = record.begin(on: descriptor, generation: 1)
        #expect(!record.isCallEnded(serving: 1))
        let first = record.call
        #expect(!record.isCallEnded(serving: 1) && record.call == first)
        #expect(!record.isCallEnded(serving: 2) && record.call != first, "another transfer is another call")
        record.endCall(isLastResort: false)
        #expect(record.isCallEnded(serving: 2))
        #expect(!record.isCallEnded(serving: 3))
        #expect(!record.end())
        _ = record.begin(on: descriptor, generation: 1)
        record.endCall(isLastResort: false)
        #expect(record.end(), "it served no transfer")
    }

    @Test("The end of a transfer's time closes the socket of its call, and no socket behind the next transfer's")
    func sockets() throws {
        let (record, pipe) = (CurlCallRecord(), try SocketPair())
        for (transfers, isClosed) in [([1, 2], false), ([1], true)] {
            record.opened(pipe.ours, generation: 1)
            _ = record.begin(on: pipe.ours, generation: 1)
            for transfer in transfers { _ = record.isCallEnded(serving: transfer) }
            record.endCall(isLastResort: false)
            #expect(pipe.isAtEnd == isClosed)
            #expect(record.end() == isClosed)
        }
    }

    @Test("Without calls it sleeps, and the next call wakes it")
    func sleeps() {
        var sample = CallSample()
        let decisions = (0..<20).map { _ in sample.look(at: nil, processorTime: .zero) }
        #expect(decisions == Array(repeating: .goOn, count: 19) + [.sleep])
        let record = CurlCallRecord()
        #expect(record.begin(on: nil, generation: 1))
        #expect(!record.end())
        #expect(!record.begin(on: nil, generation: 1), "it is watching")
        #expect(!record.sleep(), "a call began")
        _ = record.end()
        #expect(record.sleep())
        #expect(record.begin(on: nil, generation: 1))
    }
}

/// Two connected sockets.
private final class SocketPair {
    let ours: Int32
    private let theirs: Int32

    init() throws {
        var pair: [Int32] = [-1, -1]
        try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &pair) == 0)
        (self.ours, self.theirs) = (pair[0], pair[1])
    }

    deinit {
        close(self.ours)
        close(self.theirs)
    }

    /// Whether our side was shut down.
    var isAtEnd: Bool {
        var byte: UInt8 = 0
        return recv(self.theirs, &byte, 1, Int32(MSG_DONTWAIT)) == 0
    }
}
