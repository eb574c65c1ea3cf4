import Testing
import TidegateCore

@testable import TidegateNetwork

/// The exchange for one question, without a network.
@Suite struct DNSExchangeMachineTests {
    private let answer = DNSOutcome.answered([IPAddress(ipv4: 1)], timeToLive: .seconds(9))

    private func begun() -> DNSExchangeMachine {
        var machine = DNSExchangeMachine()
        #expect(machine.handle(.begin) == [.sendDatagram, .resend(after: .milliseconds(300))])
        return machine
    }

    @Test("A question is sent eight times in 2.1 s, then with growing delays, and ends at its limit")
    func resending() {
        var machine = self.begun()
        for _ in 0..<6 {
            #expect(machine.handle(.resendDue) == [.sendDatagram, .resend(after: .milliseconds(300))])
        }
        for pause in [1, 2, 4, 8, 16, 32, 32] {
            #expect(machine.handle(.resendDue) == [.sendDatagram, .resend(after: .seconds(pause))])
        }
        #expect(machine.handle(.limitReached) == [.finish(.timedOut)])
    }

    @Test("With use-vc a question goes over TCP from the start")
    func stream() {
        var machine = DNSExchangeMachine()
        machine.usesTCP = true
        #expect(machine.handle(.begin) == [.openStream])
        #expect(machine.handle(.received(.whole(self.answer))) == [.finish(self.answer)])
    }

    @Test("A question finishes once, whatever follows")
    func once() {
        var machine = self.begun()
        #expect(machine.handle(.received(.whole(self.answer))) == [.finish(self.answer)])
        let inputs: [DNSExchangeMachine.Input] = [
            .begin, .received(.whole(.noData)), .received(.foreign), .received(.truncated(nil)), .broken(.refused),
            .resendDue,
            .limitReached,
        ]
        for input in inputs { #expect(machine.handle(input) == []) }
    }

    @Test("A truncated answer continues over TCP, and is used if that fails")
    func streaming() {
        for (input, expected) in [
            (DNSExchangeMachine.Input.broken(.refused), self.answer), (.limitReached, self.answer),
            (.received(.foreign), self.answer), (.received(.whole(.noData)), .noData),
            (.received(.truncated(nil)), self.answer),
        ] {
            var machine = self.begun()
            #expect(machine.handle(.received(.truncated(self.answer))) == [.openStream])
            #expect(machine.handle(.resendDue) == [])
            #expect(machine.handle(input) == [.finish(expected)])
        }
        var machine = self.begun()
        _ = machine.handle(.received(.truncated(nil)))
        #expect(machine.handle(.limitReached) == [.finish(.timedOut)])
    }

    @Test("A question that cannot be sent fails with the reason")
    func broken() {
        var machine = DNSExchangeMachine()
        #expect(machine.handle(.broken(.unreachable(nil))) == [.finish(.unreachable(nil))])
        #expect(machine.handle(.begin) == [])
    }
}
