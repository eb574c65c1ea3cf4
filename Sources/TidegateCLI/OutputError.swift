internal import Glibc
internal import TidegateDaemon

/// Why standard output cannot be written.
struct OutputError: Sendable, Hashable {
    /// The error number of write(2).
    var code: Int32

    /// True if nobody reads standard output any more.
    static var hasLostReader: Bool {
        var output = pollfd(fd: STDOUT_FILENO, events: 0, revents: 0)
        return poll(&output, 1, 0) == 1 && output.revents & Int16(POLLERR) != 0
    }

    /// The message for standard error.
    var message: String { "cannot write to standard output: \(TextFile.errorMessage(self.code))" }

    /// Ends the program: silently like any writer whose reader has gone away, or with an error message.
    ///
    /// At once: whatever else runs here only produces more output.
    func exitProgram() -> Never {
        if self.code == EPIPE {
            // A library ignores SIGPIPE; with the default action the kernel would have ended the program here.
            signal(SIGPIPE, SIG_DFL)
            raise(SIGPIPE)
            _exit(ExitStatus.signal(SIGPIPE).number)
        }
        Terminal().printError("tidegate: \(self.message)")
        _exit(ExitStatus.no.number)
    }
}
