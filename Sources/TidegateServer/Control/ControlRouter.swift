internal import FoundationEssentials
internal import TidegateCore

/// Knows the answer to every request on the control socket; opens no socket.
struct ControlRouter: Sendable {
    let control: any TaskControl

    /// The largest body that is read: a task's own body may have 16 MiB.
    static let bodyLimit = 24 << 20

    func answer(_ method: String, _ target: String, body: [UInt8]) async -> ControlAnswer {
        let path = target.prefix { $0 != "?" && $0 != "#" }
        let parts = path.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
        guard parts.count >= 4, parts[0].isEmpty, parts[1] == "api", parts[2] == "v1" else {
            return ControlRouter.nothing
        }
        do throws(ControlRefusal) {
            switch Array(parts[3...]) {
            case ["tasks"] where method == "GET":
                return ControlAnswer(["schema": 1, "tasks": .array(try await self.control.tasks())])
            case ["tasks"] where method == "POST": return try await self.submit(body)
            case ["tasks"]: return ControlRouter.wrong("GET, POST")
            case ["events"]: return method == "GET" ? .watch : ControlRouter.wrong("GET")
            case let words where words.count == 2 && words[0] == "tasks":
                guard method == "GET" else { return ControlRouter.wrong("GET") }
                return ControlAnswer(try await self.control.task(try ControlRouter.id(words[1])))
            case let words where words.count == 3 && words[0] == "tasks":
                guard let command = TaskCommand(rawValue: words[2]) else { return ControlRouter.nothing }
                guard method == "POST" else { return ControlRouter.wrong("POST") }
                return ControlAnswer(try await self.control.command(command, try ControlRouter.id(words[1])))
            default: return ControlRouter.nothing
            }
        } catch {
            return ControlAnswer(status: error.reason.status, error: error.description)
        }
    }

    private func submit(_ body: [UInt8]) async throws(ControlRefusal) -> ControlAnswer {
        let receipt = try await self.control.submit(try SubmissionDocument.read(body))
        let id = receipt.id.description
        var answer = ControlAnswer(
            status: receipt.isNew ? 201 : 200, ["schema": 1, "id": .string(id), "new": .bool(receipt.isNew)])
        if receipt.isNew { answer.fields = [("location", "/api/v1/tasks/\(id)")] }
        return answer
    }

    private static func id(_ text: String) throws(ControlRefusal) -> TaskID {
        guard let id = TaskID(text) else { throw ControlRefusal(.unknown, "there is no task \"\(text)\"") }
        return id
    }

    private static let nothing = ControlAnswer(status: 404, error: "there is nothing at this path")

    private static func wrong(_ allowed: String) -> ControlAnswer {
        var answer = ControlAnswer(status: 405, error: "only \(allowed) is answered here")
        answer.fields = [("allow", allowed)]
        return answer
    }
}
