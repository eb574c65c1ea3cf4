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
        var checked = 0
        do {
            for try await chunk in body {
                if checked < 2000 {
                    guard !chunk.prefix(2000 - checked).contains(0) else { return .binary }
                    checked += chunk.count
                }
                if let error = write(chunk) { return .failed(error) }
            }
        } catch {
            return .written
        }
        return .written
    }
}
