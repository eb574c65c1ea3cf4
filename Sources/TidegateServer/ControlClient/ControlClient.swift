internal import FoundationEssentials
internal import Glibc
internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix
package import TidegateCore
package import TidegateIncidents

/// A client of a daemon's control socket: HTTP over a Unix socket, one connection per call.
package struct ControlClient: Sendable {
    /// The socket's path.
    package let socket: String
    private let timeout: Duration
    private let owner: UInt32?

    private typealias Connection = NIOAsyncChannel<HTTPClientResponsePart, HTTPPart<HTTPRequestHead, IOData>>

    /// A client of the daemon that listens on a socket; each call makes a connection.
    ///
    /// - Parameters:
    /// - timeout: How long to retry while the socket's listen queue is full.
    /// - owner: A user whose daemon is trusted, in addition to root's and this user's own.
    package init(socket: String, timeout: Duration = .seconds(5), trusting owner: UInt32? = nil) {
        self.socket = socket
        self.timeout = timeout
        self.owner = owner
    }

    /// All tasks of the daemon, oldest first.
    package func tasks() async throws(ControlClientError) -> [TaskDocument] {
        var tasks: [TaskDocument] = []
        var path = "/api/v1/tasks"
        while true {
            let list: TaskList = try await self.call(.GET, path).decoded().value
            tasks += list.tasks
            guard let next = list.next else { return tasks }
            path = "/api/v1/tasks?after=\(next)"
        }
    }

    /// What the daemon knows of its configured targets and its host.
    package func report() async throws(ControlClientError) -> DaemonReport {
        let reply = try await self.call(.GET, "/api/v1/targets")
        var report: DaemonReport = try reply.decoded().value
        // A decoder would lose the order of members.
        let document = try? JSONValue(parsing: reply.bytes)
        (report.quality, report.uplinks) = (document?["quality"] ?? .null, document?["uplinks"]?.elements ?? [])
        return report
    }

    /// What the daemon knows of other programs' connections.
    package func connections() async throws(ControlClientError) -> ConnectionsReport {
        let document: ConnectionsDocument = try await self.call(.GET, "/api/v1/connections").decoded().value
        return document.report
    }

    /// The recorded incidents of a question's time, or one by its id, as they are at `now`.
    package func incidents(
        _ question: IncidentQuestion, at now: WallTime
    ) async throws(ControlClientError) -> IncidentAnswer {
        var answer = IncidentAnswer(to: question, at: now)
        var after: String?
        repeat {
            let values = [
                ("since", question.since?.description), ("until", question.until?.description), ("id", question.id),
                ("evidence", question.wantsEvidence ? "true" : nil), ("after", after),
                ("limit", question.limit < 1000 ? "\(question.limit)" : nil),
            ]
            let query = values.compactMap { name, value in value.map { "\(name)=\(Self.escaped($0))" } }
            let reply = try await self.call(.GET, "/api/v1/records?\(query.joined(separator: "&"))")
            // A decoder would lose the order of members.
            let records = (try? JSONValue(parsing: reply.bytes)) ?? .null
            guard answer.add(records: records) else {
                throw ControlClientError(
                    .exchangeFailed, "the daemon's answer has no incidents; it may be another version")
            }
            after = records["next"]?.text
        } while after != nil && answer.hasRoom
        return answer
    }

    /// Replaces an operator's note of an incident.
    package func note(_ note: JSONValue, on id: String) async throws(ControlClientError) -> ControlReply<JSONValue> {
        try await self.call(.POST, "/api/v1/incidents/\(id)", body: Array(note.description.utf8)).decoded()
    }

    /// Plans maintenance.
    package func plan(_ plan: JSONValue) async throws(ControlClientError) -> ControlReply<JSONValue> {
        try await self.call(.POST, "/api/v1/plans", body: Array(plan.description.utf8)).decoded()
    }

    /// Removes planned maintenance.
    package func removePlan(_ id: String) async throws(ControlClientError) -> ControlReply<JSONValue> {
        try await self.call(.DELETE, "/api/v1/plans/\(Self.escaped(id))").decoded()
    }

    /// Whether this host's own side works, for a target or for the way out.
    package func guardAnswer(_ target: String?) async throws(ControlClientError) -> ControlReply<JSONValue> {
        let query = target.map { "?target=\(Self.escaped($0))" } ?? ""
        return try await self.call(.GET, "/api/v1/guard\(query)", accepting: [503]).decoded()
    }

    /// A value in a query (RFC 3986 3.4).
    package static func escaped(_ value: String) -> String {
        value.utf8.map { byte in
            let isPlain =
                UInt8(ascii: "a")...UInt8(ascii: "z") ~= byte | 0x20 || 0x30...0x39 ~= byte || byte == 0x2E
                || byte == 0x2D
            let digits = String(byte, radix: 16, uppercase: true)
            return isPlain ? String(UnicodeScalar(byte)) : "%" + (byte < 16 ? "0" : "") + digits
        }.joined()
    }

    /// What a bug report needs of the daemon, as texts by file name.
    package func supportFiles() async throws(ControlClientError) -> [String: String] {
        try await self.call(.GET, "/api/v1/support").decoded().value
    }

    /// One task.
    package func task(_ id: String) async throws(ControlClientError) -> ControlReply<TaskDocument> {
        try await self.call(.GET, "/api/v1/tasks/\(id)").decoded()
    }

    /// Passes the body received by a finished task to `receive`, piece by piece.
    package func body(
        _ id: String, receive: ([UInt8]) throws(ControlClientError) -> Void
    ) async throws(ControlClientError) {
        var (count, refusal): (Int, [UInt8]) = (0, [])
        do throws(ControlClientError) {
            let status = try await self.exchange(.GET, "/api/v1/tasks/\(id)/body", body: nil) {
                status, bytes throws(ControlClientError) in
                guard status < 300 else { return refusal += bytes }
                count += bytes.count
                try receive(bytes)
            }
            guard status < 300 else { throw Reply(status: status, bytes: refusal).error }
        } catch {
            guard error.reason == .disconnected, count > 0 else { throw error }
            throw ControlClientError(
                .disconnected,
                "the body ended after \(count) bytes: its file changed while it was read, or the daemon stopped")
        }
    }

    /// A task's request in the format of another program.
    package func export(
        _ id: String, as format: ExportFormat, showingSecrets: Bool
    ) async throws(ControlClientError) -> String {
        let query = showingSecrets ? "?secrets=true" : ""
        return try await self.call(.GET, "/api/v1/tasks/\(id)/\(format.rawValue)\(query)").text
    }

    /// Submits a task.
    ///
    /// When this returns, the task is in the journal and runs even if the daemon is killed.
    package func submit(_ submission: TaskSubmission) async throws(ControlClientError) -> ControlReply<SubmitDocument> {
        guard let body = try? JSONEncoder().encode(submission) else {
            throw ControlClientError(.exchangeFailed, "the task cannot be encoded as JSON")
        }
        return try await self.call(.POST, "/api/v1/tasks", body: [UInt8](body)).decoded()
    }

    /// Suspends, resumes or cancels a task; returns the task's state once the change is durable.
    package func command(
        _ command: ControlCommand, _ id: String
    ) async throws(ControlClientError) -> ControlReply<TaskDocument> {
        try await self.call(.POST, "/api/v1/tasks/\(id)/\(command.rawValue)").decoded()
    }

    /// Passes a snapshot of the tasks and then every event to `receive`, each as a line of JSON.
    ///
    /// Returns when the daemon stops.
    package func watch(_ receive: @escaping @Sendable (String) -> Void) async throws(ControlClientError) {
        var rest: [UInt8] = []
        let status = try await self.exchange(.GET, "/api/v1/events", body: nil) { _, bytes in
            rest += bytes
            while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
                receive(String(decoding: rest[..<end], as: UTF8.self))
                rest.removeFirst(end + 1)
            }
        }
        guard status < 300 else { throw Reply(status: status, bytes: rest).error }
    }

    /// The name or number of the group whose members may use the control socket at a path.
    ///
    /// Nil if there is no socket, or if this user cannot see it.
    package static func group(of socket: String) -> String? {
        guard let status = FileStatus(path: socket, followsLinks: true), status.isSocket else { return nil }
        var group = Glibc.group()
        var buffer = [CChar](repeating: 0, count: 16 << 10)
        var found: UnsafeMutablePointer<Glibc.group>?
        guard getgrgid_r(status.group, &group, &buffer, buffer.count, &found) == 0, found != nil,
            let name = group.gr_name
        else { return String(status.group) }
        return String(cString: name)
    }

    // MARK: - One call

    private struct Reply {
        let status: Int
        let bytes: [UInt8]

        /// The response text without its final newline.
        var text: String { String(decoding: self.bytes, as: UTF8.self).trimmed }

        func decoded<Value: Decodable>() throws(ControlClientError) -> ControlReply<Value> {
            guard let value = try? JSONDecoder().decode(Value.self, from: Data(self.bytes)) else {
                throw ControlClientError(
                    .exchangeFailed, "malformed response from the daemon: \(self.text.prefix(200))")
            }
            return ControlReply(text: self.text, value: value)
        }

        var error: ControlClientError {
            let document: ControlReply<ErrorDocument>? = try? self.decoded()
            let message = document?.value.error ?? "the daemon responded with status \(self.status)"
            return ControlClientError(.refused(status: self.status), message)
        }
    }

    private func call(
        _ method: HTTPMethod, _ path: String, body: [UInt8]? = nil, accepting statuses: Set<Int> = []
    ) async throws(ControlClientError) -> Reply {
        var bytes: [UInt8] = []
        let status = try await self.exchange(method, path, body: body) { bytes += $1 }
        let reply = Reply(status: status, bytes: bytes)
        guard status < 300 || statuses.contains(status) else { throw reply.error }
        return reply
    }

    // MARK: - One exchange, on its own connection

    /// Sends the request, and passes the status with each part of the response body to `receive`; returns the status.
    private func exchange(
        _ method: HTTPMethod, _ path: String, body: [UInt8]?,
        receive: (_ status: Int, [UInt8]) throws(ControlClientError) -> Void
    ) async throws(ControlClientError) -> Int {
        do {
            let connection = try await self.connect()
            return try await connection.executeThenClose { inbound, outbound in
                try await self.verify(connection.channel)
                // Written in one piece: a daemon that answers after the head and closes would not accept the rest.
                try await outbound.write(contentsOf: self.request(method, path, body))
                var status = 0
                for try await part in inbound {
                    switch part {
                    case .head(let head): status = Int(head.status.code)
                    case .body(let buffer): try receive(status, Array(buffer.readableBytesView))
                    case .end: return status
                    }
                }
                throw self.disconnected
            }
        } catch let failure as ControlClientError {
            throw failure
        } catch {
            throw self.failure(error)
        }
    }

    private func connect() async throws -> Connection {
        let clock = ContinuousClock()
        let end = clock.now + self.timeout
        while true {
            do {
                return try await self.connectOnce()
            } catch let error as IOError where error.errnoCode == EAGAIN && clock.now < end {
                // The listen queue is full (unix(7)); the daemon will accept soon.
                try await clock.sleep(for: .milliseconds(50))
            }
        }
    }

    // Nothing may be sent to a socket that another user has put there.
    private func verify(_ channel: any Channel) async throws(ControlClientError) {
        guard let user = await PeerVerification.peer(of: channel)?.user else {
            throw ControlClientError(
                .notAllowed, "the owner of the control socket \(self.socket) cannot be determined")
        }
        guard ![0, geteuid(), self.owner].contains(user) else { return }
        throw ControlClientError(
            .notAllowed,
            "the control socket \(self.socket) is another user's (uid \(user)), and was sent nothing; "
                + "--control.user \(user) trusts it")
    }

    private func connectOnce() async throws -> Connection {
        try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .connect(unixDomainSocketPath: self.socket) { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHTTPClientHandlers()
                    return try Connection(wrappingChannelSynchronously: channel)
                }
            }
    }

    private func request(
        _ method: HTTPMethod, _ path: String, _ body: [UInt8]?
    ) -> [HTTPPart<HTTPRequestHead, IOData>] {
        var headers = HTTPHeaders([("Host", "tidegate"), ("Connection", "close")])
        if method == .POST { headers.add(name: "Content-Length", value: String(body?.count ?? 0)) }
        let head = HTTPRequestHead(version: .http1_1, method: method, uri: path, headers: headers)
        guard let body, !body.isEmpty else { return [.head(head), .end(nil)] }
        return [.head(head), .body(.byteBuffer(ByteBuffer(bytes: body))), .end(nil)]
    }

    private var disconnected: ControlClientError {
        ControlClientError(
            .disconnected, "the daemon on the control socket \(self.socket) closed the connection before it responded")
    }

    private func failure(_ error: any Error) -> ControlClientError {
        switch error {
        // The daemon exited during the exchange.
        case let error as IOError where error.errnoCode == ECONNRESET || error.errnoCode == EPIPE: self.disconnected
        case HTTPParserError.invalidEOFState, ChannelError.eof, ChannelError.ioOnClosedChannel: self.disconnected
        case let error as IOError
        where error.errnoCode == ECONNREFUSED && FileStatus(path: self.socket, followsLinks: true)?.isSocket == false:
            ControlClientError(.noDaemon, "\(self.socket) is not a socket")
        case let error as IOError
        where error.errnoCode == ENOENT || error.errnoCode == ENOTDIR || error.errnoCode == ECONNREFUSED:
            ControlClientError(
                .noDaemon,
                "no daemon is listening on the control socket \(self.socket); start one with \"tidegate serve\"")
        case let error as IOError where error.errnoCode == EACCES:
            ControlClientError(
                .notAllowed,
                "permission denied: the control socket \(self.socket) is for root, the daemon's user and members of the "
                    + "socket's group\(ControlClient.group(of: self.socket).map { " \($0)" } ?? "")")
        case let error as IOError where error.errnoCode == EAGAIN:
            ControlClientError(
                .noDaemon, "the daemon on the control socket \(self.socket) is too busy to accept a connection")
        case SocketAddressError.unixDomainSocketPathTooLong:
            ControlClientError(
                .noDaemon, "the path of the control socket \(self.socket) is longer than 107 bytes")
        default:
            ControlClientError(.exchangeFailed, "the exchange over the control socket \(self.socket) failed: \(error)")
        }
    }
}

/// Why a request on the control socket failed.
package struct ControlClientError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kinds of failure.
    package enum Reason: Sendable, Hashable {
        /// No daemon listens on the socket, or it is too busy to accept.
        case noDaemon
        /// A process may listen there, but this user may not connect or does not trust the listening user.
        case notAllowed
        /// The daemon rejected the request with this status.
        case refused(status: Int)
        /// The daemon closed the connection before it responded; the request may have been carried out.
        case disconnected
        /// The response cannot be written to its destination.
        case notWritten
        /// The exchange failed.
        case exchangeFailed
    }

    /// The kind of failure.
    package let reason: Reason
    /// One sentence without a full stop.
    package let description: String

    package init(_ reason: Reason, _ description: String) {
        self.reason = reason
        self.description = description
    }
}

/// A response as text and as a value.
package struct ControlReply<Value: Sendable>: Sendable {
    /// One JSON object on one line.
    package let text: String
    /// The decoded object.
    package let value: Value
}

private struct TaskList: Decodable {
    let tasks: [TaskDocument]
    /// The task after which the list continues; nil at its end.
    let next: String?
}

private struct ErrorDocument: Decodable {
    let error: String
}

extension String {
    fileprivate var trimmed: String { self.hasSuffix("\n") ? String(self.dropLast()) : self }
}

/// What a daemon knows of its configured targets and its host.
package struct DaemonReport: Sendable, Hashable, Decodable {
    /// A configured target.
    package struct Target: Sendable, Hashable, Decodable {
        /// Its name in the configuration; without one, equal to ``target``.
        package var name: String
        /// Its host, with a port if one is configured.
        package var target: String
        /// Its reachability, as a `level`.
        package var level: String
        /// Why the level is not higher; nil without a reason.
        package var reason: String?
        /// True if the last check reached it; nil before the first check, and without checks.
        package var reached: Bool?
        /// The result of the last failed check; nil if none failed.
        package var lastFailure: Failure?
    }

    /// A failed check.
    package struct Failure: Sendable, Hashable, Decodable {
        /// The responsible party.
        package var party: String
        /// What went wrong.
        package var text: String
    }

    /// The latest diagnosis of the host.
    package struct Diagnosis: Sendable, Hashable, Decodable {
        /// The lowest failing rung; nil if none fails.
        package var firstFailure: String?
        /// The cause, with the values of `cause` in `explain --json`; nil if nothing is wrong.
        package var cause: String?
        /// When the failure began; nil if unknown.
        package var since: String?
    }

    /// How the connections of other programs are observed.
    package struct Observation: Sendable, Hashable, Decodable {
        /// The mode, as in the metric `tidegate_observation_mode`.
        package var mode: String
        /// Why it is reduced; nil in the best mode.
        package var reason: String?
    }

    /// The configured targets.
    package var targets: [Target]
    /// Nil before the first diagnosis.
    package var diagnosis: Diagnosis?
    package var observation: Observation?
    /// How good the way out is, as in `/api/v1/status`; null while nothing is watched.
    package var quality = JSONValue.null
    /// Its ways out, as in `/api/v1/status`; empty on a host with a single one.
    package var uplinks: [JSONValue] = []

    private enum CodingKeys: CodingKey { case targets, diagnosis, observation }
}
