internal import Glibc
internal import TidegateLoop
internal import TidegateCore

/// The questions under way and their sockets; lives on the client's thread.
final class DNSClientLoop: LoopHandler {
    /// A question, and who wants to know.
    struct Order: Sendable {
        let question: DNSQuestion
        let deadline: MonotonicTime
        let completion: @Sendable (DNSOutcome) -> Void
    }

    private struct Exchange {
        let order: Order
        let query: DNSQuery
        var machine = DNSExchangeMachine()
        var descriptor: Int32?
        var stream: DNSStream?
        var limit: TimerID?
        var resend: TimerID?
    }

    private enum Alarm: UInt64 {
        case limit, resend
    }

    private static let openLimit = 64
    private static let waitingLimit = 4096
    // No answer to a question without EDNS is longer than 512 octets; some servers do not know.
    private static let datagramSize = 4096

    private let loop: Loop
    private let time: any TimeSource
    private var exchanges: [UInt64: Exchange] = [:]
    private var numbers: [Int32: UInt64] = [:]
    private var waiting: [Order] = []
    private var lastNumber: UInt64 = 0
    private var generator = SystemRandomNumberGenerator()
    private var buffer = [UInt8](repeating: 0, count: DNSClientLoop.datagramSize)

    init(loop: Loop, time: any TimeSource) {
        self.loop = loop
        self.time = time
    }

    func receive(_ order: Order) {
        if self.exchanges.count < DNSClientLoop.openLimit { return self.begin(order) }
        guard self.waiting.count < DNSClientLoop.waitingLimit else { return order.completion(.failed(code: "EAGAIN")) }
        self.waiting.append(order)
    }

    func ready(_ descriptor: Int32, for events: Loop.Interest) {
        guard let number = self.numbers[descriptor] else { return }
        if self.exchanges[number]?.stream == nil {
            self.readDatagrams(number, descriptor)
        } else {
            self.continueStream(number, descriptor)
        }
    }

    func timerFired(_ token: UInt64) {
        switch Alarm(rawValue: token & 1) {
        case .limit: self.handle(.limitReached, token >> 1)
        case .resend: self.handle(.resendDue, token >> 1)
        case nil: break
        }
    }

    func batchEnded() {
        while !self.waiting.isEmpty, self.exchanges.count < DNSClientLoop.openLimit {
            self.begin(self.waiting.removeFirst())
        }
    }

    func stopping() {
        let orders = self.exchanges.values.map(\.order) + self.waiting
        for descriptor in self.numbers.keys { DNSSocket.close(descriptor) }
        (self.exchanges, self.numbers, self.waiting) = ([:], [:], [])
        for order in orders { order.completion(.timedOut) }
    }

    // MARK: One question

    private func begin(_ order: Order) {
        let rest = order.deadline - self.time.monotonic()
        guard rest > .zero else { return order.completion(.timedOut) }
        let id = UInt16.random(in: .min ... .max, using: &self.generator)
        guard let query = DNSMessage.query(order.question.name, order.question.type, id: id) else {
            // What cannot be put into a packet can be nobody's name.
            return order.completion(.nameNotFound)
        }
        self.lastNumber += 1
        var exchange = Exchange(order: order, query: query)
        exchange.limit = self.loop.schedule(after: rest, token: self.lastNumber << 1 | Alarm.limit.rawValue)
        self.exchanges[self.lastNumber] = exchange
        self.open(.datagram, self.lastNumber)
        self.handle(.begin, self.lastNumber)
    }

    private func handle(_ input: DNSExchangeMachine.Input, _ number: UInt64) {
        for effect in self.exchanges[number]?.machine.handle(input) ?? [] {
            switch effect {
            case .sendDatagram: self.sendDatagram(number)
            case .resend(let pause):
                let token = number << 1 | Alarm.resend.rawValue
                self.exchanges[number]?.resend = self.loop.schedule(after: pause, token: token)
            case .openStream: self.openStream(number)
            case .finish(let outcome): self.finish(number, outcome)
            }
        }
    }

    private func finish(_ number: UInt64, _ outcome: DNSOutcome) {
        guard let exchange = self.exchanges.removeValue(forKey: number) else { return }
        self.close(exchange)
        for timer in [exchange.limit, exchange.resend].compactMap({ $0 }) { self.loop.cancel(timer) }
        exchange.order.completion(outcome)
    }

    // MARK: Sockets

    private func open(_ kind: DNSSocket.Kind, _ number: UInt64) {
        guard let question = self.exchanges[number]?.order.question else { return }
        let opened = DNSSocket.open(kind, to: question.server, port: question.port)
        guard let descriptor = opened.descriptor else {
            return self.handle(.broken(opened.failure ?? .timedOut), number)
        }
        do throws(LoopError) {
            try self.loop.watch(descriptor, for: kind == .datagram ? .read : .write)
        } catch {
            DNSSocket.close(descriptor)
            return self.handle(.broken(.failed(code: "errno \(error.code)")), number)
        }
        self.exchanges[number]?.descriptor = descriptor
        self.numbers[descriptor] = number
    }

    private func close(_ exchange: Exchange) {
        guard let descriptor = exchange.descriptor else { return }
        self.numbers[descriptor] = nil
        // Closing ends the watch as well; a failure to end it before leaves nothing behind.
        try? self.loop.unwatch(descriptor)
        DNSSocket.close(descriptor)
    }

    // MARK: By UDP

    private func sendDatagram(_ number: UInt64) {
        guard let exchange = self.exchanges[number], let descriptor = exchange.descriptor else { return }
        switch DNSSocket.send(exchange.query.bytes, on: descriptor, to: exchange.order.question.server) {
        // What the kernel had no room for is sent again soon.
        case .done, .later: break
        case .failed(let outcome): self.handle(.broken(outcome), number)
        }
    }

    private func readDatagrams(_ number: UInt64, _ descriptor: Int32) {
        while let exchange = self.exchanges[number], exchange.descriptor == descriptor {
            let server = exchange.order.question.server
            switch DNSSocket.receive(.datagram, into: &self.buffer, on: descriptor, from: server) {
            case .later: return
            case .failed(let outcome): self.handle(.broken(outcome), number)
            case .done(let count) where count > self.buffer.count: self.handle(.heard(.foreign), number)
            case .done(let count):
                self.handle(.heard(DNSMessageParser(Array(self.buffer[..<count]), of: exchange.query)), number)
            }
        }
    }

    // MARK: Over TCP

    private func openStream(_ number: UInt64) {
        guard let exchange = self.exchanges[number] else { return }
        self.close(exchange)
        if let resend = exchange.resend { self.loop.cancel(resend) }
        self.exchanges[number]?.descriptor = nil
        self.exchanges[number]?.stream = DNSStream(exchange.query)
        self.open(.stream, number)
    }

    private func continueStream(_ number: UInt64, _ descriptor: Int32) {
        guard let exchange = self.exchanges[number], let stream = exchange.stream else { return }
        let server = exchange.order.question.server
        if stream.unsent.isEmpty { return self.readStream(number, descriptor, server) }
        if case .failed(let outcome) = DNSSocket.connected(descriptor, to: server) {
            return self.handle(.broken(outcome), number)
        }
        switch DNSSocket.send(stream.unsent, on: descriptor, to: server) {
        case .later: break
        case .failed(let outcome): self.handle(.broken(outcome), number)
        case .done(let count):
            self.exchanges[number]?.stream?.sent(count)
            guard count == stream.unsent.count else { return }
            do throws(LoopError) {
                try self.loop.change(descriptor, to: .read)
            } catch {
                self.handle(.broken(.failed(code: "errno \(error.code)")), number)
            }
        }
    }

    private func readStream(_ number: UInt64, _ descriptor: Int32, _ server: IPAddress) {
        switch DNSSocket.receive(.stream, into: &self.buffer, on: descriptor, from: server) {
        case .later: break
        case .failed(let outcome): self.handle(.broken(outcome), number)
        case .done(0): self.handle(.heard(.foreign), number)
        case .done(let count):
            guard let exchange = self.exchanges[number],
                let answer = self.exchanges[number]?.stream?.receive(self.buffer[..<count])
            else { return }
            self.handle(.heard(DNSMessageParser(answer, of: exchange.query)), number)
        }
    }
}
