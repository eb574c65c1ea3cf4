import Synchronization
import TidegateCore
import TidegateSessionTestKit

@testable import TidegateSession

/// A server with one version of one text, which answers 304 to those who have it.
final class VersionedServer: Sendable {
    struct Version: Sendable {
        var text = "one"
        var validator = "ETag: \"1\""
        var more: [String] = []
        var onlyWhen304: [String] = []
    }

    let server: LiveServer
    private let shared: Shared

    init(_ version: Version = Version()) throws {
        let current = Shared(version)
        self.server = try LiveServer { request in
            let version = current.value.withLock { $0 }
            let known = [request.field("if-none-match"), request.field("if-modified-since")]
            let own = version.validator.drop { $0 != ":" }.dropFirst(2)
            guard request.method == "GET" || request.method == "HEAD" else { return .respond(204) }
            if known.contains(String(own)) {
                let head = LiveServerAnswer.head(304, [version.validator] + version.onlyWhen304)
                return LiveServerAnswer([.send(head)])
            }
            guard request.method == "GET" else {
                return LiveServerAnswer([
                    .send(LiveServerAnswer.head(200, [version.validator, "Content-Length: 3"]))
                ])
            }
            return .respond(200, [version.validator] + version.more, text: version.text)
        }
        self.shared = current
    }

    private final class Shared: Sendable {
        let value: Mutex<Version>
        init(_ value: Version) { self.value = Mutex(value) }
    }

    func change(_ change: (inout Version) -> Void) { self.shared.value.withLock { change(&$0) } }

    /// The conditions of each request, in order.
    var conditions: [String?] {
        self.server.requests.map { $0.field("if-none-match") ?? $0.field("if-modified-since") }
    }
}

extension SessionFixture {
    /// A session whose responses are stored in `store`.
    convenience init(storingIn store: ValidatorStore?) throws { try self.init(.with { $0.validators = store }) }

    /// What a request gives: the body as text, the result and the task.
    func body(_ request: TaskRequest) async -> (String, TaskResult, TransferTask) {
        let task = self.run(request)
        let result = await task.result()
        return (String(decoding: task.body(), as: UTF8.self), result, task)
    }
}
