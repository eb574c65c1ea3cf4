internal import Glibc
package import TidegateCore
package import TidegateLoop

/// The thread that owns libcurl and every attempt and timer of a session.
///
/// Stopping it drops running attempts: their connections are closed and nothing more is reported. A client that
/// receives many commands adds them to the inbox itself, because a specialised inbox costs half as much.
package typealias TransferThread<Client: TransferClient> = LoopThread<TransferHandler<Client>>

extension LoopThread {
    /// Starts the thread; `make` runs on it, and its client stays there.
    ///
    /// The kernel shows 15 bytes of `name`. The client's timers and the reported moments follow `time`. Every socket is
    /// recorded in `own`.
    package convenience init<Client>(
        name: String = "tg-transfer", time: any TimeSource = SystemClock(), own: OwnSockets? = nil,
        make: @escaping @Sendable (TransferEngine) -> Client
    ) throws(LoopError) where Handler == TransferHandler<Client> {
        // libcurl gives no error number; running out of memory is the likely reason.
        try Result { () throws(CurlError) in try CurlLibrary.prepare() }
            .mapError { LoopError(operation: $0.operation, code: ENOMEM) }.get()
        try self.init(name: name, time: time) { loop in
            let engine = TransferEngine(loop: loop, own: own)
            return TransferHandler(engine: engine, client: make(engine))
        }
    }
}

/// Connects a client and its engine to the loop.
package final class TransferHandler<Client: TransferClient>: LoopHandler {
    private let engine: TransferEngine
    private let client: Client

    init(engine: TransferEngine, client: Client) {
        self.engine = engine
        self.client = client
    }

    package func receive(_ command: Client.Command) { self.client.receive(command) }

    package func ready(_ descriptor: Int32, for events: Loop.Interest) { self.engine.ready(descriptor, for: events) }

    package func timerFired(_ token: UInt64) {
        if !self.engine.timerFired(token) { self.client.timerFired(token) }
    }

    package func batchEnding() { self.engine.serve(self.client) }

    package func batchEnded() {
        self.client.batchEnded()
        // Attempts that the client has just started are sent within this batch.
        self.engine.serve(self.client)
        self.engine.endTurn()
    }

    package func stopping() {
        self.client.stopping()
        self.engine.shutDown()
    }
}

/// The owner of attempts on the transfer thread: created on the thread, called only there, released there.
///
/// Every method may call every method of the engine.
package protocol TransferClient: AnyObject, SendableMetatype {
    /// The commands that other threads send to it.
    associatedtype Command: Sendable

    /// Carries out a command.
    func receive(_ command: Command)
    /// Called when an attempt has made progress or ended.
    func attempt(_ id: AttemptID, reported report: AttemptReport)
    /// Called when a timer is due; `token` is the one that it was scheduled with.
    func timerFired(_ token: UInt64)
    /// Called when everything that was ready has been handled and reported, before the thread waits.
    func batchEnded()
    /// Called last, before the thread ends; running attempts are dropped without a report.
    func stopping()
}

/// A timer of the transfer thread, for modules that do not import the loop.
package typealias TransferTimer = TimerID
