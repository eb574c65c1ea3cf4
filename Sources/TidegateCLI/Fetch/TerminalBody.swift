internal import Tidegate

/// Copies a body to a terminal, unless it is binary, which would garble it.
///
/// As curl(1) does: a body is binary if a NUL is among its first 2000 bytes.
enum TerminalBody {
    /// How the copying ended.
    enum End: Sendable, Hashable {
        /// All of it was written, or the transfer failed and says so itself.
        case written
        case binary
        case failed(OutputError)
    }

    static let message =
        "the body is binary and was not written to the terminal; save it with -o FILE, or use -o - to print it anyway"

    /// Copies until the body ends; a reader that goes away cancels the transfer.
    static func copy(_ body: BodyStream, write: ([UInt8]) -> OutputError?) async -> End {
        var check = BinaryCheck()
        do {
            for try await chunk in body {
                guard !check.isBinary(chunk) else { return .binary }
                if let error = write(chunk) { return .failed(error) }
            }
        } catch {
            return .written
        }
        return .written
    }
}

/// Looks for a NUL among the first 2000 bytes of a body.
struct BinaryCheck {
    private var checked = 0

    /// True if the next piece of the body shows that it is binary.
    mutating func isBinary(_ piece: [UInt8]) -> Bool {
        defer { self.checked += piece.count }
        return piece.prefix(max(0, 2000 - self.checked)).contains(0)
    }
}
