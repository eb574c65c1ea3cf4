internal import ArgumentParser
internal import Glibc

/// The executable: parses the arguments, runs the command and exits with a documented status.
@main
enum TidegateProgram {
    static func main() async {
        StandardDescriptors.fill()
        let terminal = Terminal()
        do {
            let arguments = CurlOption.separated(Array(CommandLine.arguments.dropFirst()))
            SecretArguments.erase()
            let unknown = UnknownCommand.message(for: arguments, root: TidegateCommand.self)
            if let message = unknown ?? CurlOption.message(for: arguments) {
                throw CommandError(.usage, message)
            }
            var command = try TidegateCommand.parseAsRoot(arguments)
            if var command = command as? any AsyncParsableCommand {
                try await command.run()
            } else {
                try command.run()
            }
        } catch {
            let result = ProgramExit(error, parsedBy: TidegateCommand.self)
            if let output = result.output { terminal.print(output) }
            if let message = result.errorMessage { terminal.printError(message) }
            exit(result.status)
        }
    }
}

/// How many files and sockets the process may have open (RLIMIT_NOFILE, getrlimit(2)).
enum DescriptorLimit {
    /// Raises the soft limit to the hard one.
    ///
    /// Not for commands that start others: those inherit it, and programs with select(2) rely on a low one.
    static func raise() {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return }
        limit.rlim_cur = limit.rlim_max
        // As it was, if the system does not allow it.
        _ = setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    }
}

/// The descriptors 0, 1 and 2.
enum StandardDescriptors {
    /// Opens /dev/null for those that are closed at the start.
    ///
    /// Otherwise the next file that is opened, a journal or a download, would get the number, and receive the text that
    /// is printed.
    static func fill() {
        for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) < 0 {
            // In the wrong direction, so that reads and writes fail as they would on a closed descriptor.
            let direction = descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY
            guard open("/dev/null", direction) == descriptor else { _exit(ExitStatus.usage.number) }
        }
    }
}

/// The arguments of the process as others see them (proc_pid_cmdline(5)).
enum SecretArguments {
    /// Overwrites what `-u` and `--user` were given, `-uUSER:PASS` included; to be called after the arguments were copied.
    static func erase() {
        var isValue = false
        for index in 1..<max(1, Int(CommandLine.argc)) {
            guard let argument = CommandLine.unsafeArgv[index] else { continue }
            let text = String(cString: argument)
            if text == "--" { return }
            defer { isValue = self.isFollowedBySecret(text) }
            if let start = isValue ? 0 : self.start(of: text) {
                memset(argument + start, 0x2A, strlen(argument + start))
            }
        }
    }

    // `-u` may be the last of several letters, as in `-qu`; that hides the word behind some other option's, too.
    private static func isFollowedBySecret(_ text: String) -> Bool {
        text == "--user" || (text.hasPrefix("-") && !text.hasPrefix("--") && text.hasSuffix("u"))
    }

    // Where the secret begins in `--user=USER:PASS` and `-uUSER:PASS`; nil in anything else.
    private static func start(of text: String) -> Int? {
        for option in ["--user=", "-u"] where text.hasPrefix(option) && text != option { return option.utf8.count }
        return nil
    }
}
