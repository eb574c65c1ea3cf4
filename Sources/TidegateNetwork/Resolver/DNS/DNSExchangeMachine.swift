/// The exchange for one question: by UDP, repeated until an answer arrives, and over TCP if the answer is too long.
struct DNSExchangeMachine {
    enum State: Hashable {
        case idle
        /// The number of UDP packets sent so far.
        case waiting(sent: Int)
        /// Sent over TCP; if that fails, the outcome of the truncated UDP answer is used.
        case streaming(fallback: DNSOutcome?)
        case finished
    }

    enum Input {
        case begin
        /// A packet from the server, parsed.
        case received(DNSMessageParser.Result)
        /// Sending or receiving failed.
        case broken(DNSOutcome)
        case resendDue
        case limitReached
    }

    enum Effect: Hashable {
        case sendDatagram
        case resend(after: Duration)
        case openStream
        case finish(DNSOutcome)
    }

    // A path that loses 30 % of packets in each direction answers every other datagram. Of eight datagrams within 2.1
    // s, at least one is answered in 199 of 200 cases.
    private static let burst = 8

    /// Whether it begins over TCP.
    var usesTCP = false
    private(set) var state = State.idle
    // A packet from the server's address was not an answer.
    private var receivedGarbage = false

    mutating func handle(_ input: Input) -> [Effect] {
        switch (self.state, input) {
        case (.idle, .begin) where self.usesTCP:
            self.state = .streaming(fallback: nil)
            return [.openStream]
        case (.idle, .begin):
            self.state = .waiting(sent: 1)
            return [.sendDatagram, .resend(after: self.pause(sent: 1))]
        case (.waiting(let sent), .resendDue):
            self.state = .waiting(sent: sent + 1)
            return [.sendDatagram, .resend(after: self.pause(sent: sent + 1))]
        case (.waiting, .received(.truncated(let partial))):
            self.state = .streaming(fallback: partial)
            return [.openStream]
        case (.waiting, .received(.whole(let outcome))), (.streaming, .received(.whole(let outcome))):
            return self.finish(outcome)
        case (.waiting, .received(.foreign)):
            self.receivedGarbage = true
            return []
        case (.waiting, .broken(let outcome)): return self.finish(outcome)
        case (.waiting, .limitReached):
            return self.finish(self.receivedGarbage ? .failed(code: "MALFORMED") : .timedOut)
        // A stream carries only this exchange, so even a foreign packet comes from the server.
        case (.streaming(let partial), .received(.foreign)): return self.finish(partial ?? .failed(code: "MALFORMED"))
        case (.streaming(let before), .received(.truncated(let partial))):
            return self.finish(partial ?? before ?? .failed(code: "MALFORMED"))
        case (.streaming(let partial), .broken(let outcome)): return self.finish(partial ?? outcome)
        case (.streaming(let partial), .limitReached): return self.finish(partial ?? .timedOut)
        case (.idle, .received), (.idle, .resendDue), (.waiting, .begin), (.streaming, .begin),
            (.streaming, .resendDue),
            (.finished, _):
            return []
        case (.idle, .broken(let outcome)): return self.finish(outcome)
        case (.idle, .limitReached): return self.finish(.timedOut)
        }
    }

    private func pause(sent: Int) -> Duration {
        let later = sent - DNSExchangeMachine.burst
        return later < 0 ? .milliseconds(300) : .seconds(1 << min(later, 5))
    }

    private mutating func finish(_ outcome: DNSOutcome) -> [Effect] {
        self.state = .finished
        return [.finish(outcome)]
    }
}
