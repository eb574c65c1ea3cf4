internal import Synchronization
internal import TidegateModel

/// What users ask of the session's thread.
enum SessionCommand: Sendable {
    case resume(TaskID)
    case suspend(TaskID)
    case cancel(TaskID)
}

/// The way to the session's thread, as long as there is one.
final class SessionLine: Sendable {
    func send(_ command: SessionCommand) {}
}
