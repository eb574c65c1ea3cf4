internal import Foundation
internal import TidegateCore
internal import TidegateDaemon

/// The process's terminal and environment; no other code reads them.
struct Terminal: Sendable {
    /// The style of text on standard output.
    let outputStyle: TextStyle
    /// The style of text on standard error.
    let errorStyle: TextStyle
    let isOutputTerminal: Bool
    let isErrorTerminal: Bool

    init() {
        self.isOutputTerminal = isatty(STDOUT_FILENO) == 1
        self.isErrorTerminal = isatty(STDERR_FILENO) == 1
        // https://no-color.org: the variable counts if it is set and not empty.
        let allowsColor = (Terminal.variable("NO_COLOR") ?? "").isEmpty && Terminal.variable("TERM") != "dumb"
        self.outputStyle = TextStyle(
            isColored: allowsColor && self.isOutputTerminal, width: Terminal.columns(of: STDOUT_FILENO))
        self.errorStyle = TextStyle(
            isColored: allowsColor && self.isErrorTerminal, width: Terminal.columns(of: STDERR_FILENO))
    }

    /// Prints a line to standard output; exits on failure, because the result would be lost silently.
    func print(_ line: String) {
        if let error = self.tryPrint(line) { error.exitProgram() }
    }

    /// Prints a line to standard output; returns the error if that fails.
    func tryPrint(_ line: String) -> OutputError? {
        self.write(Array("\(TextStyle.escapingControls(line))\n".utf8))
    }

    /// Writes text to standard output unchanged; exits if that fails.
    func print(_ text: String, terminator: String) {
        if let error = self.write(Array((text + terminator).utf8)) { error.exitProgram() }
    }

    /// Writes bytes to standard output; returns the error if that fails.
    func write(_ bytes: [UInt8]) -> OutputError? {
        TextFile.write(bytes, to: STDOUT_FILENO).map { OutputError(code: $0) }
    }

    /// The number of rows of the terminal on standard output; 24 if it is unknown.
    var rows: Int {
        var size = winsize()
        return ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0 && size.ws_row > 0 ? Int(size.ws_row) : 24
    }

    /// Prints a line to standard error; a failure is ignored, since there is nowhere left to report it.
    func printError(_ line: String) { self.draw(TextStyle.escapingControls(line) + "\n") }

    /// Warns about files with secrets that every user may read.
    func warn(about secretFiles: [String]) {
        for file in secretFiles {
            if let warning = SecretFile.warning(about: file) { self.printError("tidegate: warning: \(warning)") }
        }
    }

    /// Warns about the skipped lines of a file: the first ten, and the number of the others.
    func warn(of skipped: [String], in file: String) {
        for warning in skipped.prefix(10) { self.printError("tidegate: warning: \(warning)") }
        guard skipped.count > 10 else { return }
        self.printError("tidegate: warning: \(file): \(skipped.count - 10) more lines are skipped")
    }

    /// Writes text to standard error unchanged.
    func draw(_ text: String) { _ = TextFile.write(Array(text.utf8), to: STDERR_FILENO) }

    /// The environment.
    static var environment: [String: String] { ProcessInfo.processInfo.environment }

    /// The path of this program (proc_pid_exe(5)); where `make install` puts it, if it is not installed.
    static var executable: String {
        let path = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
        return path.hasPrefix("/usr/") && !path.contains(" ") ? path : "/usr/local/bin/tidegate"
    }

    /// An environment variable.
    static func variable(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }

    /// The default state directory and control socket of this user's daemon.
    static var defaultPaths: DefaultPaths { DefaultPaths(user: geteuid(), environment: self.variable) }

    private static func columns(of descriptor: Int32) -> Int {
        var size = winsize()
        if ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 { return Int(size.ws_col) }
        return self.variable("COLUMNS").flatMap { Int($0) }.flatMap { $0 >= 20 ? $0 : nil } ?? 80
    }
}

/// Why standard output cannot be written.
struct OutputError: Sendable, Hashable {
    /// The error number of write(2).
    var code: Int32

    /// True if the reader of standard output has closed its end.
    static var hasLostReader: Bool {
        var output = pollfd(fd: STDOUT_FILENO, events: 0, revents: 0)
        return poll(&output, 1, 0) == 1 && output.revents & Int16(POLLERR) != 0
    }

    /// The message for standard error.
    var message: String { "cannot write to standard output: \(SystemError.message(self.code))" }

    /// Exits silently if the reader has closed its end, as other writers do, and with an error message otherwise.
    ///
    /// Exits immediately, because anything else that runs only produces more output.
    func exitProgram() -> Never {
        if self.code == EPIPE {
            // A library ignores SIGPIPE; with the default action the kernel would have terminated the program here.
            signal(SIGPIPE, SIG_DFL)
            raise(SIGPIPE)
            _exit(ExitStatus.signal(SIGPIPE).number)
        }
        Terminal().printError("tidegate: \(self.message)")
        _exit(ExitStatus.no.number)
    }
}
