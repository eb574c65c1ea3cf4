internal import Glibc
internal import TidegateDaemon

/// Why an answer cannot be written to the standard output.
struct OutputProblem: Sendable, Hashable {
    /// The error number of write(2).
    var code: Int32

    /// For the standard error.
    var sentence: String { "the standard output cannot be written: \(TextFile.words(of: self.code))" }

    /// Ends the program like any other whose reader went away, or with a complaint.
    ///
    /// At once: what else runs here only makes more answers.
    func endProgram() -> Never {
        if self.code == EPIPE {
            // Libraries have it ignored; without that the kernel would have ended the program here.
            signal(SIGPIPE, SIG_DFL)
            raise(SIGPIPE)
            _exit(Ending.Code.signal(SIGPIPE).number)
        }
        Terminal().note("tidegate: \(self.sentence)")
        _exit(Ending.Code.no.number)
    }
}
