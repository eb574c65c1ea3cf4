internal import Synchronization

/// What libcurl says of one attempt while it runs, and the heads that the attempt sends and receives.
///
/// Bounded: of more than 128 KiB the rest is left out.
package final class WireLog: Sendable {
    /// What a line is.
    package enum Kind: Sendable, Hashable {
        /// What libcurl says of the connection.
        case note
        /// A line of a head that was sent.
        case sent
        /// A line of a head that was received.
        case received
    }

    /// A line without its end.
    package struct Line: Sendable, Hashable {
        package var kind: Kind
        package var text: String
    }

    private struct State {
        var lines: [Line] = []
        var room = 131_072
    }

    private let state = Mutex(State())

    package init() {}

    /// The lines so far.
    package var lines: [Line] { self.state.withLock { $0.lines } }

    /// Appends whole lines: a head that is sent comes at once, all else line by line.
    func add(_ kind: Kind, _ bytes: UnsafeRawBufferPointer) {
        let lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        let texts = (bytes.last == UInt8(ascii: "\n") ? lines.dropLast() : lines).map { line in
            String(decoding: line.last == UInt8(ascii: "\r") ? line.dropLast() : line, as: UTF8.self)
        }
        self.state.withLock { state in
            guard state.room >= bytes.count else { return state.room = 0 }
            state.room -= bytes.count
            state.lines += texts.map { Line(kind: kind, text: $0) }
        }
    }
}
