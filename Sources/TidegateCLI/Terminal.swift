internal import Glibc
internal import TidegateDaemon

/// What the process was started with: the only place that reads the environment and asks about terminals.
struct Terminal: Sendable {
    /// How answers on the standard output are drawn.
    let answers: TextStyle
    /// How progress on the standard error is drawn.
    let progress: TextStyle
    let isOutputTerminal: Bool
    let isErrorTerminal: Bool

    init() {
        self.isOutputTerminal = isatty(STDOUT_FILENO) == 1
        self.isErrorTerminal = isatty(STDERR_FILENO) == 1
        // https://no-color.org: present and not empty.
        let mayColour = (Terminal.variable("NO_COLOR") ?? "").isEmpty && Terminal.variable("TERM") != "dumb"
        self.answers = TextStyle(
            isColoured: mayColour && self.isOutputTerminal, width: Terminal.columns(of: STDOUT_FILENO))
        self.progress = TextStyle(
            isColoured: mayColour && self.isErrorTerminal, width: Terminal.columns(of: STDERR_FILENO))
    }

    /// Writes an answer, its line end included; ends the program where it cannot be written, as nobody would know.
    func answer(_ line: String) {
        if let problem = self.tell(line) { problem.endProgram() }
    }

    /// Writes an answer, its line end included; gives why it cannot be written.
    func tell(_ line: String) -> OutputProblem? {
        Terminal.write(line + "\n", to: STDOUT_FILENO).map { OutputProblem(code: $0) }
    }

    /// Writes a note or a complaint, its line end included; where it cannot be, there is no other place to say so.
    func note(_ line: String) { _ = Terminal.write(line + "\n", to: STDERR_FILENO) }

    /// Writes text for the terminal of the standard error as it is.
    func draw(_ text: String) { _ = Terminal.write(text, to: STDERR_FILENO) }

    /// An environment variable.
    static func variable(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }

    /// Where a daemon of this user keeps its state and listens for commands, unless told otherwise.
    static var places: DefaultPaths { DefaultPaths(user: geteuid(), environment: self.variable) }

    /// Writes all of a text; gives the error number where it cannot.
    private static func write(_ text: String, to descriptor: Int32) -> Int32? {
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return count < 0 ? errno : EIO }
            rest = rest.dropFirst(count)
        }
        return nil
    }

    private static func columns(of descriptor: Int32) -> Int {
        var size = winsize()
        if ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 { return Int(size.ws_col) }
        return self.variable("COLUMNS").flatMap { Int($0) }.flatMap { $0 >= 20 ? $0 : nil } ?? 80
    }
}
