internal import CLinux
internal import Glibc
internal import Synchronization
internal import TidegateCore
internal import TidegateIncidents

/// Runs the operator's command once for each change of an incident, one at a time.
final class IncidentCommand: Sendable {
    private let arguments: [String]
    private let time: any TimeSource
    private let onEnd: @Sendable (_ failure: String?) -> Void
    // The newest state of each incident that has changed since the command ran for it, the first change first.
    private let waiting = Mutex<[Incident]>([])
    private let (changes, change) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))

    /// The longest time that it may take.
    static let limit = Duration.seconds(30)

    /// A command that ``run()`` runs; empty for none.
    init(_ arguments: [String], time: any TimeSource, onEnd: @escaping @Sendable (String?) -> Void) {
        (self.arguments, self.time, self.onEnd) = (arguments, time, onEnd)
    }

    /// Lets the command be run for an incident, after those that wait.
    func notify(of incident: Incident) {
        guard !self.arguments.isEmpty else { return }
        self.waiting.withLock { waiting in
            if let place = waiting.firstIndex(where: { $0.id == incident.id }) {
                waiting[place] = incident
            } else {
                waiting.append(incident)
            }
        }
        self.change.yield()
    }

    /// Runs the command for each change until the task is cancelled.
    func run() async {
        for await _ in self.changes {
            while let next = self.waiting.withLock({ $0.isEmpty ? nil : $0.removeFirst() }), !Task.isCancelled {
                let json = next.json(at: self.time.wall()).adding(.init("evidence", next.evidence))
                self.onEnd(await Self.run(self.arguments, input: json.description + "\n"))
            }
        }
    }

    /// Runs a command with its input; returns why it failed.
    private static func run(_ arguments: [String], input: String) async -> String? {
        // MFD_CLOEXEC
        let file = memfd_create("incident", 1)
        guard file >= 0 else { return "the incident cannot be written: \(SystemError.message(errno))" }
        defer { close(file) }
        // A file, so that a command that does not read cannot block.
        if let code = TextFile.write(Array(input.utf8), to: file) { return SystemError.message(code) }
        lseek(file, 0, SEEK_SET)
        // Without a shell, in a process group of its own, and without an output that could fill a pipe.
        let (code, id) = ProgramStarter(hasOwnGroup: true, input: file).start(arguments)
        guard code == 0 else { return "\(arguments[0]): \(SystemError.message(code))" }
        let start = ContinuousClock.now
        var status: Int32 = 0
        while waitpid(id, &status, WNOHANG) == 0 {
            guard ContinuousClock.now - start < Self.limit, !Task.isCancelled else {
                kill(-id, SIGKILL)
                waitpid(id, &status, 0)
                let reason = Task.isCancelled ? "was ended by the shutdown" : "took longer than \(Self.limit.shortText)"
                return "\(arguments[0]) \(reason)"
            }
            try? await Task.sleep(for: .milliseconds(20), clock: .continuous)
        }
        let isExit = status & 0x7F == 0
        let number = isExit ? status >> 8 & 0xFF : status & 0x7F
        return status == 0 ? nil : "\(arguments[0]) ended with \(isExit ? "status" : "signal") \(number)"
    }
}
