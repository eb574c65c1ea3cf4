internal import Synchronization
public import TidegateCore
internal import TidegateTransfer

/// One attempt or hop of a task: the sent and received lines, without the bodies.
///
/// Recorded if ``SessionConfiguration/recordsExchanges`` is set.
public struct Exchange: Sendable, Hashable {
    /// A line on the connection, or about it.
    public struct Line: Sendable, Hashable {
        /// The kind of a line.
        public enum Kind: String, Sendable, Hashable {
            /// A note from libcurl about names, connections and certificates.
            case note
            /// A line of the request's head; the empty line ends it.
            case sent
            /// A line of a response's head, including 1xx and proxy responses; the empty line ends it.
            case received
        }

        /// Its kind.
        public var kind: Kind
        /// The line without its line end; it includes credentials.
        public var text: String

        package init(_ kind: Kind, _ text: String) {
            self.kind = kind
            self.text = text
        }

        fileprivate init(_ line: WireLog.Line) {
            switch line.kind {
            case .note: self.kind = .note
            case .sent: self.kind = .sent
            case .received: self.kind = .received
            }
            self.text = line.text
        }
    }

    /// The attempt's number within its task, from 1; each redirect is another attempt.
    public var number: Int
    /// The request method.
    public var method: String
    /// The URL, with its query and without user information.
    public var url: String
    /// When the attempt began.
    public var started: WallTime
    /// The lines in order, up to 128 KiB.
    public var lines: [Line]
    /// The summary at its end; nil while it is running.
    public var summary: AttemptSummary?
    /// Why it failed; nil while it is running or if it succeeded.
    public var failure: TaskFailure?
    /// Whether the request has the task's body.
    package var hasBody: Bool
    // For an attempt whose other records are gone.
    private var knownStatus: Int?

    package init(
        number: Int, method: String, url: String, started: WallTime, lines: [Line] = [],
        summary: AttemptSummary? = nil, failure: TaskFailure? = nil, hasBody: Bool = false, status: Int? = nil
    ) {
        self.number = number
        self.method = method
        self.url = url
        self.started = started
        self.lines = lines
        self.summary = summary
        self.failure = failure
        self.hasBody = hasBody
        self.knownStatus = status
    }

    /// Creates the exchange of a starting attempt.
    init(number: Int, of hop: Hop, _ request: TaskRequest, at started: WallTime) {
        let hasBody = hop.keepsBody && request.body != .none
        self.init(number: number, method: hop.method, url: hop.url.text, started: started, hasBody: hasBody)
    }

    /// The response's status, 100 to 599; nil if no response arrived.
    public var status: Int? { self.summary?.status ?? self.knownStatus }
}

/// The exchanges of one task: written on the transfer thread, read by any thread.
final class ExchangeLog: Sendable {
    /// The maximum number of exchanges; the oldest are removed.
    private static let limit = 32

    private let entries = Mutex<[(exchange: Exchange, wire: WireLog)]>([])

    /// Adds the exchange of a starting attempt.
    func begin(_ exchange: Exchange) {
        self.entries.withLock { entries in
            if entries.count == ExchangeLog.limit { entries.removeFirst() }
            entries.append((exchange, WireLog()))
        }
    }

    /// The log for an attempt's lines; nil if the attempt has not started.
    func wire(of number: Int) -> WireLog? {
        self.entries.withLock { entries in entries.last { $0.exchange.number == number }?.wire }
    }

    /// Completes the exchange of an ended attempt.
    func end(_ summary: AttemptSummary, _ failure: TaskFailure?) {
        self.entries.withLock { entries in
            guard let place = entries.lastIndex(where: { $0.exchange.number == summary.number }) else { return }
            (entries[place].exchange.summary, entries[place].exchange.failure) = (summary, failure)
        }
    }

    var exchanges: [Exchange] {
        self.entries.withLock { $0 }.map { entry in
            var exchange = entry.exchange
            exchange.lines = entry.wire.lines.map(Exchange.Line.init)
            return exchange
        }
    }
}
