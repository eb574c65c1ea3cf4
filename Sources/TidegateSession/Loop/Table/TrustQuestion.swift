internal import Synchronization
internal import TidegateCore

/// The server that an attempt was refused for because a hook has not judged it yet.
final class TrustQuestion: Sendable {
    private let asked = Mutex<ServerTrust?>(nil)

    /// The server; nil if there is nothing to ask.
    var trust: ServerTrust? { self.asked.withLock { $0 } }

    func ask(about trust: ServerTrust) { self.asked.withLock { $0 = trust } }
}

/// What a task knows of the servers that a hook judges.
struct TrustState {
    /// What it said so far.
    var verdicts: [ServerTrust: ServerTrustVerdict] = [:]
    /// What the attempt leaves to be asked; nil without such a hook.
    var question: TrustQuestion?
}
