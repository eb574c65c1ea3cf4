/// The course of one question: by UDP, said again while nobody answers, and over TCP where the answer is too long.
struct DNSExchangeMachine {
    /// Where it stands.
    enum State: Hashable {
        case idle
        /// Asked by UDP so many times.
        case asking(sent: Int)
        /// Asked over TCP; what UDP brought serves where that comes to nothing.
        case continuing(instead: DNSOutcome?)
        case finished
    }

    /// What happens to it.
    enum Input {
        case begin
        /// A packet from the server, read.
        case heard(DNSMessageParser)
        /// Sending or receiving failed.
        case broken(DNSOutcome)
        case resendDue
        case limitReached
    }

    /// What it wants done.
    enum Effect: Hashable {
        case sendDatagram
        case resend(after: Duration)
        case openStream
        case finish(DNSOutcome)
    }

    private(set) var state = State.idle
    // Something came from the server's address that was no answer.
    private var hasHeardGarbage = false

    mutating func handle(_ input: Input) -> [Effect] {
        switch (self.state, input) {
        case (.idle, .begin):
            self.state = .asking(sent: 1)
            return [.sendDatagram, .resend(after: .seconds(1))]
        case (.asking(let sent), .resendDue):
            self.state = .asking(sent: sent + 1)
            return [.sendDatagram, .resend(after: .seconds(1 << min(sent, 5)))]
        case (.asking, .heard(.truncated(let partial))):
            self.state = .continuing(instead: partial)
            return [.openStream]
        case (.asking, .heard(.whole(let outcome))), (.continuing, .heard(.whole(let outcome))):
            return self.finish(outcome)
        case (.asking, .heard(.foreign)):
            self.hasHeardGarbage = true
            return []
        case (.asking, .broken(let outcome)): return self.finish(outcome)
        case (.asking, .limitReached): return self.finish(self.hasHeardGarbage ? .failed(code: "MALFORMED") : .timedOut)
        // A stream has no place for anybody else's packets.
        case (.continuing(let partial), .heard(.foreign)): return self.finish(partial ?? .failed(code: "MALFORMED"))
        case (.continuing(let before), .heard(.truncated(let partial))):
            return self.finish(partial ?? before ?? .failed(code: "MALFORMED"))
        case (.continuing(let partial), .broken(let outcome)): return self.finish(partial ?? outcome)
        case (.continuing(let partial), .limitReached): return self.finish(partial ?? .timedOut)
        case (.idle, .heard), (.idle, .resendDue), (.asking, .begin), (.continuing, .begin), (.continuing, .resendDue),
            (.finished, _):
            return []
        case (.idle, .broken(let outcome)): return self.finish(outcome)
        case (.idle, .limitReached): return self.finish(.timedOut)
        }
    }

    private mutating func finish(_ outcome: DNSOutcome) -> [Effect] {
        self.state = .finished
        return [.finish(outcome)]
    }
}
