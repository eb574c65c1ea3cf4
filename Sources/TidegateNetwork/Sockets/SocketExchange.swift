internal import Glibc
internal import TidegateCore
internal import TidegateLoop

/// An exchange on one socket: it sends something and waits for the answer.
///
/// An ``ExchangeLoop`` calls everything on its thread.
protocol SocketExchange: Sendable {
    associatedtype Outcome: Sendable

    /// The maximum number of open exchanges.
    static var openLimit: Int { get }
    /// The maximum number of waiting exchanges; further ones fail with ``fullCode``.
    static var waitingLimit: Int { get }
    static var fullCode: Int32 { get }
    /// The size of the receive buffer in bytes.
    static var bufferSize: Int { get }

    /// The events that the socket is watched for.
    var interest: Loop.Interest { get }
    /// How long to wait for the socket before ``expired(_:at:)``.
    func timeToWait(at now: MonotonicTime) -> Duration
    /// Opens the socket.
    mutating func open(at now: MonotonicTime) throws(LoopError) -> Int32
    /// Called when the socket is watched.
    mutating func begin(_ descriptor: Int32, at now: MonotonicTime) -> ExchangeStep<Outcome>
    /// Called when the socket is ready.
    mutating func ready(
        _ descriptor: Int32, into buffer: inout [UInt8], at now: MonotonicTime
    ) -> ExchangeStep<Outcome>
    /// Called when the time to wait has passed.
    mutating func expired(_ descriptor: Int32, at now: MonotonicTime) -> ExchangeStep<Outcome>
    /// The outcome of a failure; nil means that nothing arrived in time.
    mutating func outcome(of failure: LoopError?) -> Outcome
    /// Closes the socket, unless the outcome passes it on.
    func close(_ descriptor: Int32)
}

/// The next step of an exchange.
enum ExchangeStep<Outcome> {
    case wait
    case over(Outcome)
    /// Replace the socket by another one.
    case reopen
}

extension SocketExchange {
    static var openLimit: Int { 1024 }
    static var waitingLimit: Int { 0 }
    static var fullCode: Int32 { ENOBUFS }
    // As long as the longest packet, so that none is truncated.
    static var bufferSize: Int { 65_536 }
    var interest: Loop.Interest { .read }

    func begin(_ descriptor: Int32, at now: MonotonicTime) -> ExchangeStep<Outcome> { .wait }

    mutating func expired(_ descriptor: Int32, at now: MonotonicTime) -> ExchangeStep<Outcome> {
        .over(self.outcome(of: nil))
    }

    func close(_ descriptor: Int32) { _ = Glibc.close(descriptor) }
}

/// The thread of exchanges; it starts with the first one.
final class ExchangeThread<Exchange: SocketExchange>: Sendable {
    private let lazy: LazyThread<LoopThread<ExchangeLoop<Exchange>>>

    init(name: String, onStart: @escaping @Sendable () -> Void = {}) {
        self.lazy = LazyThread {
            try? LoopThread(name: name) { loop in
                onStart()
                return ExchangeLoop(loop: loop)
            }
        }
    }

    deinit { self.stop() }

    /// Runs an exchange; `completion` is called once, on the thread or, if that cannot start, on the caller's.
    func run(_ exchange: Exchange, completion: @escaping @Sendable (Exchange.Outcome) -> Void) {
        let command = ExchangeLoop.Command(exchange: exchange, completion: completion)
        guard let thread = self.lazy.thread else {
            return command.end(LoopError(operation: "thread", code: EMFILE))
        }
        // The thread may have been stopped since.
        if !thread.send(command) { command.end(nil) }
    }

    /// Runs an exchange.
    func run(_ exchange: Exchange) async -> Exchange.Outcome {
        await withCheckedContinuation { waiter in self.run(exchange) { waiter.resume(returning: $0) } }
    }

    /// Ends the open exchanges as unanswered, then the thread.
    func stop() { self.lazy.take()?.stop() }
}

/// The open exchanges of one kind, with their sockets.
final class ExchangeLoop<Exchange: SocketExchange>: LoopHandler {
    struct Command: Sendable {
        var exchange: Exchange
        let completion: @Sendable (Exchange.Outcome) -> Void

        func end(_ failure: LoopError?) {
            var exchange = self.exchange
            self.completion(exchange.outcome(of: failure))
        }
    }

    private let loop: Loop
    private var pending: [Int32: (command: Command, interest: Loop.Interest, timer: TimerID)] = [:]
    private var waiting: [Command] = []
    private var buffer = [UInt8](repeating: 0, count: Exchange.bufferSize)

    private var now: MonotonicTime { self.loop.clock.monotonic() }

    init(loop: Loop) { self.loop = loop }

    func receive(_ command: Command) {
        if self.pending.count < Exchange.openLimit { return self.begin(command) }
        guard self.waiting.count < Exchange.waitingLimit else {
            return command.end(LoopError(operation: "socket", code: Exchange.fullCode))
        }
        self.waiting.append(command)
    }

    func ready(_ descriptor: Int32, for _: Loop.Interest) {
        let now = self.now
        self.take(self.pending[descriptor]?.command.exchange.ready(descriptor, into: &self.buffer, at: now), descriptor)
    }

    func timerFired(_ token: UInt64) {
        let (descriptor, now) = (Int32(truncatingIfNeeded: token), self.now)
        self.take(self.pending[descriptor]?.command.exchange.expired(descriptor, at: now), descriptor)
        guard let exchange = self.pending[descriptor]?.command.exchange else { return }
        self.pending[descriptor]?.timer = self.schedule(exchange, descriptor)
    }

    func batchEnded() {
        while !self.waiting.isEmpty, self.pending.count < Exchange.openLimit {
            self.begin(self.waiting.removeFirst())
        }
    }

    func stopping() {
        for descriptor in Array(self.pending.keys) { self.remove(descriptor)?.end(nil) }
        for command in self.waiting { command.end(nil) }
        self.waiting = []
    }

    // MARK: One exchange

    private func begin(_ command: Command) {
        var command = command
        do throws(LoopError) {
            let descriptor = try command.exchange.open(at: self.now)
            let interest = command.exchange.interest
            do throws(LoopError) {
                try self.loop.watch(descriptor, for: interest)
            } catch {
                command.exchange.close(descriptor)
                throw error
            }
            let step = command.exchange.begin(descriptor, at: self.now)
            let timer = self.schedule(command.exchange, descriptor)
            self.pending[descriptor] = (command, interest, timer)
            self.take(step, descriptor)
        } catch {
            command.end(error)
        }
    }

    private func schedule(_ exchange: Exchange, _ descriptor: Int32) -> TimerID {
        let now = self.now
        return self.loop.schedule(
            at: now + exchange.timeToWait(at: now), token: UInt64(UInt32(bitPattern: descriptor)))
    }

    private func take(_ step: ExchangeStep<Exchange.Outcome>?, _ descriptor: Int32) {
        switch step {
        case .wait?: self.update(descriptor)
        case .over(let outcome)?: self.remove(descriptor)?.completion(outcome)
        case .reopen?: if let command = self.remove(descriptor) { self.begin(command) }
        case nil: break
        }
    }

    private func update(_ descriptor: Int32) {
        guard let pending = self.pending[descriptor], pending.interest != pending.command.exchange.interest else {
            return
        }
        self.pending[descriptor]?.interest = pending.command.exchange.interest
        do throws(LoopError) {
            try self.loop.change(descriptor, to: pending.command.exchange.interest)
        } catch {
            self.remove(descriptor)?.end(error)
        }
    }

    private func remove(_ descriptor: Int32) -> Command? {
        guard let pending = self.pending.removeValue(forKey: descriptor) else { return nil }
        self.loop.cancel(pending.timer)
        // Closing the descriptor ends the watch anyway, so a failure to end it first does not matter.
        try? self.loop.unwatch(descriptor)
        pending.command.exchange.close(descriptor)
        return pending.command
    }
}
