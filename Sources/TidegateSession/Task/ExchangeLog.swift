internal import Synchronization
internal import TidegateCore
internal import TidegateTransfer

/// The exchanges of one task: written on the transfer thread, read by all.
final class ExchangeLog: Sendable {
    private struct Entry {
        var exchange: Exchange
        let wire: WireLog
    }

    /// How many are kept; of more the oldest go.
    private static let limit = 32

    private let entries = Mutex<[Entry]>([])

    /// An attempt begins.
    func begin(_ exchange: Exchange) {
        self.entries.withLock { entries in
            if entries.count == ExchangeLog.limit { entries.removeFirst() }
            entries.append(Entry(exchange: exchange, wire: WireLog()))
        }
    }

    /// Where an attempt's lines go; nil if it has not begun.
    func wire(of number: Int) -> WireLog? {
        self.entries.withLock { entries in entries.last { $0.exchange.number == number }?.wire }
    }

    /// An attempt is over.
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
