import Testing
import TidegateCore

@testable import TidegateNetwork

/// The course of a question, without any network.
@Suite struct DNSExchangeMachineTests {
    private let answer = DNSOutcome.answered([IPAddress(ipv4: 1)], timeToLive: .seconds(9))

    private func begun() -> DNSExchangeMachine {
        var machine = DNSExchangeMachine()
        #expect(machine.handle(.begin) == [.sendDatagram, .resend(after: .seconds(1))])
        return machine
    }

    @Test("A question is sent again ever more slowly, and ends with its limit")
    func resending() {
        var machine = self.begun()
        for pause in [2, 4, 8, 16, 32, 32] {
            #expect(machine.handle(.resendDue) == [.sendDatagram, .resend(after: .seconds(pause))])
        }
        #expect(machine.handle(.limitReached) == [.finish(.timedOut)])
    }

    @Test("A question ends once, whatever comes after")
    func once() {
        var machine = self.begun()
        #expect(machine.handle(.heard(.whole(self.answer))) == [.finish(self.answer)])
        let inputs: [DNSExchangeMachine.Input] = [
            .begin, .heard(.whole(.noData)), .heard(.foreign), .heard(.truncated(nil)), .broken(.refused), .resendDue,
            .limitReached,
        ]
        for input in inputs { #expect(machine.handle(input) == []) }
    }

    @Test("A cut answer goes on over TCP, and serves where that fails")
    func continuing() {
        for (input, expected) in [
            (DNSExchangeMachine.Input.broken(.refused), self.answer), (.limitReached, self.answer),
            (.heard(.foreign), self.answer), (.heard(.whole(.noData)), .noData), (.heard(.truncated(nil)), self.answer),
        ] {
            var machine = self.begun()
            #expect(machine.handle(.heard(.truncated(self.answer))) == [.openStream])
            #expect(machine.handle(.resendDue) == [])
            #expect(machine.handle(input) == [.finish(expected)])
        }
        var machine = self.begun()
        _ = machine.handle(.heard(.truncated(nil)))
        #expect(machine.handle(.limitReached) == [.finish(.timedOut)])
    }

    @Test("A question that cannot be sent fails with the reason")
    func broken() {
        var machine = DNSExchangeMachine()
        #expect(machine.handle(.broken(.unreachable(nil))) == [.finish(.unreachable(nil))])
        #expect(machine.handle(.begin) == [])
    }
}
