internal import Synchronization

/// libcurl's log of one attempt, with the heads that were sent and received.
///
/// Limited to 128 KiB; the rest is dropped.
package final class WireLog: Sendable {
    /// The kind of a line.
    package enum Kind: Sendable, Hashable {
        /// libcurl's information about the connection.
        case note
        /// A line of a sent head.
        case sent
        /// A line of a received head.
        case received
    }

    /// A line without its line end.
    package typealias Line = (kind: Kind, text: String)

    /// The unsplit log: few callers read it, and only those split it into lines.
    private struct State {
        var bytes: [UInt8] = []
        var pieces: [(kind: Kind, end: Int)] = []
        var isFull = false
    }

    private static let limit = 131_072

    private let state = Mutex(State())

    package init() {}

    /// The lines so far.
    package var lines: [Line] {
        let (bytes, pieces) = self.state.withLock { ($0.bytes, $0.pieces) }
        var start = 0
        return pieces.flatMap { piece in
            defer { start = piece.end }
            return Self.lines(in: bytes[start..<piece.end]).map { (piece.kind, $0) }
        }
    }

    /// Appends complete lines: a sent head arrives in one piece, everything else line by line.
    func add(_ kind: Kind, _ bytes: UnsafeRawBufferPointer) {
        self.state.withLock { state in
            guard !state.isFull, state.bytes.count + bytes.count <= WireLog.limit else { return state.isFull = true }
            if state.bytes.isEmpty {
                // Enough for most requests.
                state.bytes.reserveCapacity(1024)
                state.pieces.reserveCapacity(24)
            }
            state.bytes.append(contentsOf: bytes)
            state.pieces.append((kind, state.bytes.count))
        }
    }

    private static func lines(in bytes: ArraySlice<UInt8>) -> [String] {
        let lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        return (bytes.last == UInt8(ascii: "\n") ? lines.dropLast() : lines[...]).map { line in
            String(decoding: line.last == UInt8(ascii: "\r") ? line.dropLast() : line, as: UTF8.self)
        }
    }
}
