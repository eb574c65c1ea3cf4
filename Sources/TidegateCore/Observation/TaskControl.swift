/// What the control socket needs of a daemon.
package protocol TaskControl: Sendable {
    /// Accepts a task; once this returns, the task survives a kill of the daemon.
    ///
    /// A submission by a member may name files below the directories of the configuration only.
    func submit(_ submission: TaskSubmission, by caller: ControlCaller) async throws(ControlRefusal) -> SubmitResponse
    /// Of the tasks that are not over, and those whose end is still remembered, the `limit` that follow the task
    /// `after`.
    func tasks(after: TaskID?, atMost limit: Int) async throws(ControlRefusal) -> TaskSlice<TaskDocument>
    /// One task with all known details.
    func task(_ id: TaskID) async throws(ControlRefusal) -> TaskDocument
    /// The body that a finished task received; a member gets files of confined tasks only.
    func body(_ id: TaskID, for caller: ControlCaller) async throws(ControlRefusal) -> TaskBody
    /// A task's request and its result, in another program's format.
    func export(
        _ id: TaskID, as format: ExportFormat, showingSecrets: Bool
    ) async throws(ControlRefusal) -> String
    /// Carries out a command; returns once it is durable, with the task's state then.
    func command(_ command: ControlCommand, _ id: TaskID) async throws(ControlRefusal) -> TaskDocument
}

/// A user of the control socket.
package enum ControlCaller: Sendable, Hashable {
    /// Root, or the daemon's own user.
    case owner
    /// A member of the socket's group.
    case member
}

/// The body that a task received.
package enum TaskBody: Sendable {
    /// Kept in the daemon's memory: it was not written to a file, or came with an error response.
    case kept([UInt8])
    /// The open file that it was written to: each call returns the next piece, and nothing at the end.
    ///
    /// Blocks while the disk does.
    case file(_ read: @Sendable () throws -> [UInt8])
}

/// The formats in which a task's request can be had.
package enum ExportFormat: String, Sendable, Hashable, CaseIterable {
    /// A command of curl(1).
    case curl
    /// An HTTP Archive, HAR 1.2.
    case har
}

/// What can be done with a submitted task.
package enum ControlCommand: String, Sendable, Hashable, CaseIterable {
    /// Nothing moves until it is resumed.
    case suspend
    /// Takes every suspension back.
    case resume
    /// Ends it.
    case cancel
}

/// Why the daemon refuses a request.
package struct ControlRefusal: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kinds of refusals.
    package enum Reason: Int, Sendable, CaseIterable {
        /// The request is malformed.
        case malformed = 400
        /// The caller may not do it.
        case forbidden = 403
        /// There is no such task.
        case unknown = 404
        /// As many tasks as are allowed are open.
        case tooManyTasks = 429
        /// The journal's disk is full, or its file was removed.
        case diskFull = 507
        /// The daemon cannot do it now.
        case unavailable = 503

        /// The response status (RFC 9110 15).
        package var status: Int { self.rawValue }
    }

    /// The kind of refusal.
    package var reason: Reason
    /// One sentence without a final full stop.
    package var description: String

    /// A refusal from its parts.
    package init(_ reason: Reason, _ sentence: String) {
        self.reason = reason
        self.description = sentence
    }
}
