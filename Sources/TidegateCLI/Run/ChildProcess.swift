internal import Glibc
internal import TidegateDaemon

/// A command that runs beside this process, with its input, its outputs and, where there is one, its terminal.
struct ChildProcess: Sendable {
    private let id: pid_t
    /// Without a terminal the command has a process group of its own, so that its children hear signals as well.
    ///
    /// With one it stays in this process's group: the terminal's keys reach it and everything else in a pipeline, and
    /// all of them stop and go on together.
    private let hasOwnGroup: Bool

    /// The signals that whoever started this process wants ignored, such as SIGHUP under nohup(1).
    static func ignoredSignals() -> Set<Int32> {
        Set(
            (1..<32).filter { number in
                var action = sigaction()
                return sigaction(number, nil, &action) == 0
                    && unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self) == 1
            })
    }

    /// Starts `words`; the error has the code that shells give.
    static func start(_ words: [String], ignoring ignored: Set<Int32>) throws(Ending) -> ChildProcess {
        let hasOwnGroup = !self.hasTerminal
        let attributes = SpawnAttributes(hasOwnGroup: hasOwnGroup, ignored: ignored)
        var (code, id) = attributes.spawn(words)
        // A script without its first line is for the shell (execvp(3)).
        if code == ENOEXEC { (code, id) = attributes.spawn(["/bin/sh"] + words) }
        guard code == 0 else {
            let sentence = "\(words.first ?? ""): \(TextFile.words(of: code))"
            throw code == ENOENT ? Ending(.notFound, sentence) : Ending(.notRunnable, sentence)
        }
        return ChildProcess(id: id, hasOwnGroup: hasOwnGroup)
    }

    /// Passes a signal on.
    func forward(_ number: Int32) {
        // In the terminal's group the command has had from the keyboard what this process had.
        if !self.hasOwnGroup, number == SIGINT || number == SIGQUIT { return }
        kill(self.hasOwnGroup ? -self.id : self.id, number)
    }

    /// Calls `body` with the exit code, or 128 + n for a signal, from a thread of its own.
    func onEnd(_ body: @escaping @Sendable (Int32) -> Void) {
        let waiter = Unmanaged.passRetained(Waiter(id: self.id, body: body))
        var thread = pthread_t()
        guard pthread_create(&thread, nil, waitForChild, waiter.toOpaque()) == 0 else {
            waiter.takeRetainedValue().wait()
            return
        }
        pthread_detach(thread)
    }

    // Only the controlling terminal counts: a terminal that somebody left open in a descriptor sends no signals.
    private static var hasTerminal: Bool {
        let terminal = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY)
        guard terminal >= 0 else { return false }
        close(terminal)
        return true
    }
}

/// Waits for one process to end.
private final class Waiter: Sendable {
    private let id: pid_t
    private let body: @Sendable (Int32) -> Void

    init(id: pid_t, body: @escaping @Sendable (Int32) -> Void) {
        self.id = id
        self.body = body
    }

    func wait() {
        var status: Int32 = 0
        while waitpid(self.id, &status, 0) < 0, errno == EINTR {}
        // WIFSIGNALED and WEXITSTATUS of wait(2).
        let signal = status & 0x7F
        self.body(signal == 0 ? (status >> 8) & 0xFF : 128 + signal)
    }
}

private func waitForChild(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    if let context { Unmanaged<Waiter>.fromOpaque(context).takeRetainedValue().wait() }
    return nil
}
