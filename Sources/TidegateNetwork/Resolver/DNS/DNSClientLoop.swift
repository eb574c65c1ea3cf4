internal import Glibc
internal import TidegateLoop
internal import TidegateCore

/// A question with its completion.
struct DNSRequest: Sendable {
    let question: DNSQuestion
    let deadline: MonotonicTime
    let completion: @Sendable (DNSOutcome) -> Void
}

/// A question under way with its sockets and timers.
private struct DNSExchange {
    let request: DNSRequest
    let query: DNSQuery
    var machine = DNSExchangeMachine()
    var descriptor: Int32?
    var stream: DNSStream?
    var limit: TimerID?
    var resend: TimerID?
}

/// The questions under way and their sockets; lives on the client's thread.
final class DNSClientLoop: LoopHandler {
    private enum Timer: UInt64 {
        case limit, resend
    }

    private static let openLimit = 64
    private static let waitingLimit = 4096
    // Without EDNS no answer may be longer than 512 octets; some servers send more.
    private static let datagramSize = 4096

    private let loop: Loop
    private let time: any TimeSource
    private var exchanges: [UInt64: DNSExchange] = [:]
    private var numbers: [Int32: UInt64] = [:]
    private var waiting: [DNSRequest] = []
    private var lastNumber: UInt64 = 0
    private var generator = SystemRandomNumberGenerator()
    private var buffer = [UInt8](repeating: 0, count: DNSClientLoop.datagramSize)

    private let own: OwnSockets?

    init(loop: Loop, time: any TimeSource, own: OwnSockets?) {
        self.loop = loop
        self.own = own
        self.time = time
    }

    func receive(_ request: DNSRequest) {
        if self.exchanges.count < DNSClientLoop.openLimit { return self.begin(request) }
        guard self.waiting.count < DNSClientLoop.waitingLimit else {
            return request.completion(.failed(code: "EAGAIN"))
        }
        self.waiting.append(request)
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
        switch Timer(rawValue: token & 1) {
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
        let requests = self.exchanges.values.map(\.request) + self.waiting
        for descriptor in self.numbers.keys { DNSSocket.close(descriptor) }
        (self.exchanges, self.numbers, self.waiting) = ([:], [:], [])
        for request in requests { request.completion(.timedOut) }
    }

    // MARK: One question

    private func begin(_ request: DNSRequest) {
        let remaining = request.deadline - self.time.monotonic()
        guard remaining > .zero else { return request.completion(.timedOut) }
        let id = UInt16.random(in: .min ... .max, using: &self.generator)
        guard let query = DNSMessage.query(request.question.name, request.question.type, id: id) else {
            // A name that does not fit into a packet cannot exist.
            return request.completion(.nameNotFound)
        }
        self.lastNumber += 1
        var exchange = DNSExchange(request: request, query: query)
        exchange.limit = self.loop.schedule(after: remaining, token: self.lastNumber << 1 | Timer.limit.rawValue)
        self.exchanges[self.lastNumber] = exchange
        self.open(.datagram, self.lastNumber)
        self.handle(.begin, self.lastNumber)
    }

    private func handle(_ input: DNSExchangeMachine.Input, _ number: UInt64) {
        for effect in self.exchanges[number]?.machine.handle(input) ?? [] {
            switch effect {
            case .sendDatagram: self.sendDatagram(number)
            case .resend(let pause):
                let token = number << 1 | Timer.resend.rawValue
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
        exchange.request.completion(outcome)
    }

    // MARK: Sockets

    private func open(_ kind: DNSSocket.Kind, _ number: UInt64) {
        guard let question = self.exchanges[number]?.request.question else { return }
        let opened = DNSSocket.open(kind, to: question.server, port: question.port, noting: self.own)
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

    private func close(_ exchange: DNSExchange) {
        guard let descriptor = exchange.descriptor else { return }
        self.numbers[descriptor] = nil
        // Closing the descriptor ends the watch anyway, so a failure to end it first does not matter.
        try? self.loop.unwatch(descriptor)
        DNSSocket.close(descriptor)
    }

    // MARK: By UDP

    private func sendDatagram(_ number: UInt64) {
        guard let exchange = self.exchanges[number], let descriptor = exchange.descriptor else { return }
        switch DNSSocket.send(exchange.query.bytes, on: descriptor, to: exchange.request.question.server) {
        // If the kernel's buffer is full, the resend timer sends it again.
        case .done, .later: break
        case .failed(let outcome): self.handle(.broken(outcome), number)
        }
    }

    private func readDatagrams(_ number: UInt64, _ descriptor: Int32) {
        while let exchange = self.exchanges[number], exchange.descriptor == descriptor {
            let server = exchange.request.question.server
            switch DNSSocket.receive(.datagram, into: &self.buffer, on: descriptor, from: server) {
            case .later: return
            case .failed(let outcome): self.handle(.broken(outcome), number)
            case .done(let count) where count > self.buffer.count: self.handle(.received(.foreign), number)
            case .done(let count):
                self.handle(.received(DNSMessageParser.parse(Array(self.buffer[..<count]), of: exchange.query)), number)
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
        let server = exchange.request.question.server
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
        case .done(0): self.handle(.received(.foreign), number)
        case .done(let count):
            guard let exchange = self.exchanges[number],
                let answer = self.exchanges[number]?.stream?.receive(self.buffer[..<count])
            else { return }
            self.handle(.received(DNSMessageParser.parse(answer, of: exchange.query)), number)
        }
    }
}
