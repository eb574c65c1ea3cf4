import Glibc
import HTTPTypes
import Synchronization
import TidegateCore
import TidegateStore
import TidegateLoop
import TidegateSession
import TidegateTestKit

/// A process made to be killed: submits tasks, or continues those of an earlier one, until all have ended.
///
/// `JournalCrashHelper STATE DIRECTORY PORT submit:NAME,…|continue`; TIDEGATE_FAULT=before|after:ENTRY:N kills it
/// before or after the transaction with the Nth entry of that kind.
@main
struct CrashHelper {
    static func main() async throws {
        let arguments = CommandLine.arguments
        guard arguments.count == 5 else { throw UsageError() }
        let (state, mode) = (arguments[1], arguments[4])
        let fault = getenv("TIDEGATE_FAULT").flatMap { Fault(String(cString: $0)) }
        var dependencies = Journal.Dependencies(
            boot: "test", time: SystemClock(), onCommit: { fault?.check($0) })
        dependencies.flushDelay = .milliseconds(5)
        dependencies.checkpointInterval = .milliseconds(20)
        let journal = try Journal(directory: state, dependencies: dependencies)
        var configuration = SessionConfiguration()
        configuration.retry = RetryPolicy(base: .milliseconds(5), cap: .milliseconds(10))
        configuration.diskRecheck = .milliseconds(50)
        let session = try Session(
            configuration, bus: EventBus(time: SystemClock()), paths: ScriptedPathSource(),
            resolver: ScriptedResolver(),
            time: SystemClock(), generator: SystemRandomNumberGenerator(), journal: journal.tasks)
        try await session.restore()
        if mode.hasPrefix("submit:") {
            let submitter = Submitter(
                session: session, directory: arguments[2], base: "http://127.0.0.1:\(arguments[3])")
            for name in mode.dropFirst("submit:".count).split(separator: ",") { try await submitter.submit("\(name)") }
        } else {
            // The process that would have resumed them may have been killed.
            for task in try await session.find(.unfinished) where task.suspensions > 0 {
                _ = try await session.resume(task.id)
            }
        }
        while try await !session.find(.unfinished).isEmpty { usleep(2000) }
        await session.invalidate(cancellingTasks: true)
        journal.close()
    }

    private struct UsageError: Error {}
}

/// Submits tasks by name, and prints the id of each one that was accepted.
struct Submitter {
    let session: Session
    let directory: String
    let base: String

    func submit(_ name: String) async throws {
        var request = try TaskRequest(url: "\(self.base)/\(name)")
        switch name {
        case "file": request.destination = .file("\(self.directory)/file")
        case "post": request = try TaskRequest(url: "\(self.base)/post", method: "POST", body: .data([1]))
        case "keyed":
            request = try TaskRequest(
                url: "\(self.base)/keyed", method: "POST", headers: [try HTTPField("Idempotency-Key", "k")],
                body: .data([2]))
        case "refused":
            // Nothing listens there: the request never reaches the wire, and may be repeated.
            request = try TaskRequest(url: "http://127.0.0.1:1/refused", method: "POST", body: .data([3]))
            request.options.retry = RetryPolicy(attempts: 2, base: .milliseconds(5), cap: .milliseconds(10))
        default: break
        }
        let made = try await self.session.submit(request, key: name, isSuspended: name == "suspended")
        // One write(2): the test reads a whole line or none.
        let line = Array("\(name) \(made.id)\n".utf8)
        _ = write(STDOUT_FILENO, line, line.count)
        if name == "suspended" { _ = try await self.session.resume(made.id) }
    }
}

/// Kills the process at one step of the journal.
final class Fault: Sendable {
    private let isBefore: Bool
    private let entry: String
    private let number: Int
    private let seen = Atomic<Int>(0)

    init?(_ text: String) {
        let parts = text.split(separator: ":").map(String.init)
        guard parts.count == 3, let number = Int(parts[2]) else { return nil }
        (self.isBefore, self.entry, self.number) = (parts[0] == "before", parts[1], number)
    }

    func check(_ phase: Journal.CommitPhase) {
        let (isBefore, names) =
            switch phase {
            case .before(let names): (true, names)
            case .after(let names): (false, names)
            }
        guard isBefore == self.isBefore else { return }
        let count = names.count { $0 == self.entry }
        let seen = self.seen.add(count, ordering: .relaxed)
        guard seen.oldValue < self.number, seen.newValue >= self.number else { return }
        let line = Array("killed \(isBefore ? "before" : "after") \(self.entry) \(self.number)\n".utf8)
        _ = write(STDERR_FILENO, line, line.count)
        kill(getpid(), SIGKILL)
    }
}
