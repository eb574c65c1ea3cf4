internal import Glibc
internal import TidegateCore
internal import TidegateDaemon

/// A child process that inherits standard input and output.
struct ChildProcess: Sendable {
    private let id: pid_t
    /// True without a controlling terminal: the child gets its own process group, so that signals also reach its
    /// children.
    ///
    /// With a terminal it stays in this process's group. The terminal signals the whole pipeline, and job control stops
    /// and continues it as one.
    private let hasOwnGroup: Bool

    /// Starts a command; an error has the exit status that shells use.
    static func start(
        _ arguments: [String], passingOn inherited: Inheritance
    ) throws(CommandError) -> ChildProcess {
        let hasOwnGroup = !self.hasTerminal
        let starter = ProgramStarter(passingOn: inherited, hasOwnGroup: hasOwnGroup)
        var (code, id) = starter.start(arguments)
        // The shell runs a script without an interpreter line (execvp(3)).
        if code == ENOEXEC { (code, id) = starter.start(["/bin/sh"] + arguments) }
        guard code == 0 else {
            let message = "\(arguments.first ?? ""): \(SystemError.message(code))"
            throw CommandError(code == ENOENT ? .notFound : .notRunnable, message)
        }
        return ChildProcess(id: id, hasOwnGroup: hasOwnGroup)
    }

    /// Forwards a signal to the child.
    func forward(_ number: Int32) {
        // The terminal has already signalled its foreground group, which includes the child.
        if !self.hasOwnGroup, number == SIGINT || number == SIGQUIT { return }
        kill(self.hasOwnGroup ? -self.id : self.id, number)
    }

    /// Calls `body` with the exit status, or 128 + n for signal n, on its own thread.
    func onExit(_ body: @escaping @Sendable (Int32) -> Void) {
        let waiter = Unmanaged.passRetained(Waiter(id: self.id, body: body))
        var thread = pthread_t()
        guard pthread_create(&thread, nil, waitForChild, waiter.toOpaque()) == 0 else {
            waiter.takeRetainedValue().wait()
            return
        }
        pthread_detach(thread)
    }

    /// Executes a command in place of this process (execvp(3)).
    ///
    /// Returns only if that fails, with the exit status that shells use.
    static func replaceProcess(_ arguments: [String], passingOn inherited: Inheritance) -> CommandError {
        inherited.closeOthersOnExec()
        var pointers: [UnsafeMutablePointer<CChar>?] = arguments.map { strdup($0) }
        pointers.append(nil)
        // The command must not inherit a signal that a library ignores, or that the runtime blocks on this thread.
        signal(SIGPIPE, SIG_DFL)
        var none = sigset_t()
        sigemptyset(&none)
        pthread_sigmask(SIG_SETMASK, &none, nil)
        execvp(arguments.first ?? "", pointers)
        let number = errno
        for pointer in pointers { free(pointer) }
        let message = "\(arguments.first ?? ""): \(SystemError.message(number))"
        return CommandError(number == ENOENT ? .notFound : .notRunnable, message)
    }

    // Only a controlling terminal sends signals; a terminal on an inherited descriptor does not.
    private static var hasTerminal: Bool {
        let terminal = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY)
        guard terminal >= 0 else { return false }
        close(terminal)
        return true
    }
}

/// Waits for one process to exit.
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
