internal import FoundationEssentials
internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix
package import TidegateCore

/// Speaks to a daemon's control socket: HTTP over a Unix socket, one connection for each call.
package struct ControlClient: Sendable {
    /// The socket's path.
    package let socket: String
    private let patience: Duration

    /// A client of the daemon behind a socket; nothing is opened before the first call.
    ///
    /// A daemon that takes no connection because too many are waiting is asked again for as long as `patience`.
    package init(socket: String, patience: Duration = .seconds(5)) {
        self.socket = socket
        self.patience = patience
    }

    /// Every task that the daemon knows, oldest first.
    package func tasks() async throws(ControlFailure) -> ControlReply<[ListedTask]> {
        let answer = try await self.call(.GET, "/api/v1/tasks")
        return ControlReply(text: answer.text, value: try answer.value(TaskList.self).tasks)
    }

    /// One task.
    package func task(_ id: String) async throws(ControlFailure) -> ControlReply<ListedTask> {
        let answer = try await self.call(.GET, "/api/v1/tasks/\(id)")
        return ControlReply(text: answer.text, value: try answer.value(ListedTask.self))
    }

    /// Hands a task in; once this returns it is carried out although the daemon may be killed.
    package func submit(_ submission: TaskSubmission) async throws(ControlFailure) -> ControlReply<SubmittedTask> {
        guard let body = try? JSONEncoder().encode(submission) else {
            throw ControlFailure(.broken, "the submission cannot be written as JSON")
        }
        let answer = try await self.call(.POST, "/api/v1/tasks", body: [UInt8](body))
        return ControlReply(text: answer.text, value: try answer.value(SubmittedTask.self))
    }

    /// Suspends, resumes or cancels a task; returns once that is durable, with the task as it is then.
    package func command(
        _ command: TaskCommand, _ id: String
    ) async throws(ControlFailure) -> ControlReply<ListedTask> {
        let answer = try await self.call(.POST, "/api/v1/tasks/\(id)/\(command.rawValue)")
        return ControlReply(text: answer.text, value: try answer.value(ListedTask.self))
    }

    /// Hears the tasks as they are, then every event, each as a line of JSON; returns when the daemon ends.
    package func watch(_ hear: @escaping @Sendable (String) -> Void) async throws(ControlFailure) {
        var rest: [UInt8] = []
        let exchange = ControlExchange(socket: self.socket, patience: self.patience)
        let status = try await exchange.run(.GET, "/api/v1/events", body: nil) { chunk in
            rest += chunk
            while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
                hear(String(decoding: rest[..<end], as: UTF8.self))
                rest.removeFirst(end + 1)
            }
        }
        guard status < 300 else { throw Answer(status: status, bytes: rest).failure }
    }

    // MARK: - One call

    private struct Answer {
        let status: Int
        let bytes: [UInt8]

        /// Without the line end.
        var text: String { String(decoding: self.bytes, as: UTF8.self).trimmed }

        func value<Value: Decodable>(_ type: Value.Type) throws(ControlFailure) -> Value {
            do {
                return try JSONDecoder().decode(type, from: Data(self.bytes))
            } catch {
                throw ControlFailure(.broken, "the daemon gave an answer that makes no sense: \(self.text.prefix(200))")
            }
        }

        var failure: ControlFailure {
            let sentence = (try? self.value(ErrorDocument.self))?.error
            return ControlFailure(
                .refused(status: self.status), sentence ?? "the daemon answered with the status \(self.status)")
        }
    }

    private func call(
        _ method: HTTPMethod, _ path: String, body: [UInt8]? = nil
    ) async throws(ControlFailure) -> Answer {
        var bytes: [UInt8] = []
        let exchange = ControlExchange(socket: self.socket, patience: self.patience)
        let status = try await exchange.run(method, path, body: body) { bytes += $0 }
        let answer = Answer(status: status, bytes: bytes)
        guard status < 300 else { throw answer.failure }
        return answer
    }
}

private struct TaskList: Decodable {
    let tasks: [ListedTask]
}

private struct ErrorDocument: Decodable {
    let error: String
}

extension String {
    fileprivate var trimmed: String { self.hasSuffix("\n") ? String(self.dropLast()) : self }
}
