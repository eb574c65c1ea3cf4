internal import HTTPTypes
import Glibc
import Synchronization
import TidegateCore
import TidegateStore
import TidegateLoop
import TidegateSession
import TidegateTestKit

/// A process made to be killed: submits tasks, or goes on with those of an earlier one, until all are over.
///
/// `victim STATE FOLDER PORT submit|continue`; TIDEGATE_FAULT=before|after:ENTRY:N kills it at the Nth transaction that
/// has such an entry in it.
@main
struct Victim {
    static func main() async throws {
        let words = CommandLine.arguments
        guard words.count == 5 else { throw Misuse() }
        let (state, folder, base) = (words[1], words[2], "http://127.0.0.1:\(words[3])")
        let fault = getenv("TIDEGATE_FAULT").flatMap { Fault(String(cString: $0)) }
        var surroundings = Journal.Surroundings(
            boot: "test", time: SystemClock(), step: { fault?.look(at: $0) })
        surroundings.patience = .milliseconds(5)
        surroundings.checkpointInterval = .milliseconds(20)
        let journal = try Journal(directory: state, surroundings: surroundings)
        let session = try Session(
            try .init(
                retry: try RetryPolicy(base: .milliseconds(5), cap: .milliseconds(10)),
                diskRecheck: .milliseconds(50)),
            bus: EventBus(time: SystemClock()), paths: ScriptedPathSource(), resolver: ScriptedResolver(),
            time: SystemClock(), generator: SystemRandomNumberGenerator(), journal: journal)
        try await session.restore()
        if words[4] == "submit" {
            try await Victim.submit(to: session, folder, base)
        } else {
            // The process that was to do so may be dead.
            for task in try await session.find(.unfinished) where task.suspensions > 0 {
                _ = try await session.resume(task.id)
            }
        }
        while try await !session.find(.unfinished).isEmpty { usleep(2000) }
        await session.invalidate(cancellingTasks: true)
        journal.close()
    }

    private static func submit(to session: Session, _ folder: String, _ base: String) async throws {
        var download = try TaskRequest(url: "\(base)/file")
        download.destination = .file("\(folder)/file")
        try await self.tell("file", session.submit(download, key: "file"))
        let post = try TaskRequest(url: "\(base)/post", method: "POST", body: .data([1]))
        try await self.tell("post", session.submit(post, key: "post"))
        let keyed = try TaskRequest(
            url: "\(base)/keyed", method: "POST", headers: [try HTTPField("Idempotency-Key", "k")], body: .data([2]))
        try await self.tell("keyed", session.submit(keyed, key: "keyed"))
        let rested = try await session.submit(try TaskRequest(url: "\(base)/rested"), key: "rested", isSuspended: true)
        self.tell("rested", rested)
        _ = try await session.resume(rested.id)
    }

    // One write(2): a line is there whole or not at all.
    private static func tell(_ name: String, _ made: Session.Submission) {
        let line = Array("\(name) \(made.id)\n".utf8)
        _ = write(STDOUT_FILENO, line, line.count)
    }

    private struct Misuse: Error {}
}

/// Where the process is to die.
final class Fault: Sendable {
    private let isBefore: Bool
    private let entry: String
    private let left: Mutex<Int>

    init?(_ text: String) {
        let words = text.split(separator: ":").map(String.init)
        guard words.count == 3, let count = Int(words[2]) else { return nil }
        self.isBefore = words[0] == "before"
        self.entry = words[1]
        self.left = Mutex(count)
    }

    func look(at step: Journal.Step) {
        let (isBefore, names) =
            switch step {
            case .willCommit(let names): (true, names)
            case .didCommit(let names): (false, names)
            }
        guard isBefore == self.isBefore, names.contains(self.entry) else { return }
        let isDue = self.left.withLock { left in
            left -= 1
            return left == 0
        }
        if isDue { kill(getpid(), SIGKILL) }
    }
}
