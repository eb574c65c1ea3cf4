package import TidegateLoop

/// The thread that owns libcurl, every attempt and every timer of a session.
package final class TransferThread<Client: TransferClient>: Sendable {
    private let thread: LoopThread<TransferBody<Client>>

    /// Starts the thread; `make` runs on it, and its client stays there. The kernel shows 15 bytes of `name`.
    package init(
        name: String = "tg-transfer", make: @escaping @Sendable (TransferEngine) -> Client
    ) throws(LoopError) {
        self.thread = try LoopThread(name: name) { loop in
            let engine = TransferEngine(loop: loop)
            return TransferBody(engine: engine, client: make(engine))
        }
    }

    /// Asks the client for something; false once the thread is stopping, and then nothing happens.
    @discardableResult
    package func send(_ command: Client.Command) -> Bool { self.thread.send(command) }

    /// Lets the commands sent so far be carried out, ends the thread and waits for it. Attempts still running are
    /// dropped: their connections are closed and nothing more is reported.
    package func stop() { self.thread.stop() }
}

/// Joins a client and its engine to the loop.
final class TransferBody<Client: TransferClient>: LoopBody {
    private let engine: TransferEngine
    private let client: Client

    init(engine: TransferEngine, client: Client) {
        self.engine = engine
        self.client = client
    }

    func receive(_ command: Client.Command) { self.client.receive(command) }
}
