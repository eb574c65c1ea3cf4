internal import ArgumentParser
internal import Glibc
internal import Tidegate
internal import TidegateDaemon

/// The executable: parses the arguments, runs the command and exits with a documented status.
@main
enum TidegateProgram {
    static func main() async {
        self.fillStandardDescriptors()
        let terminal = Terminal()
        do {
            // Swift reads them from /proc/self/cmdline.
            guard !CommandLine.arguments.isEmpty else {
                throw CommandError(.usage, "/proc is not mounted; tidegate needs it to read its arguments and sockets")
            }
            let arguments = CurlOption.separated(self.arguments)
            self.eraseSecretArguments()
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

    /// The arguments after the program's name; files to write or to send keep names that are not UTF-8.
    private static var arguments: [String] {
        var arguments = Array(CommandLine.arguments.dropFirst())
        guard arguments.first == "fetch" || arguments.first == "tasks" else { return arguments }
        let options = ["-o", "--output", "--output-dir", "-T", "--upload-file"]
        for index in arguments.indices.dropFirst() where arguments[index].unicodeScalars.contains("\u{FFFD}") {
            let isFile = options.contains { arguments[index - 1] == $0 || arguments[index].hasPrefix("\($0)=") }
            guard isFile, let argument = CommandLine.unsafeArgv[index + 1] else { continue }
            let bytes = UnsafeBufferPointer(start: argument, count: strlen(argument)).map { UInt8(bitPattern: $0) }
            arguments[index] = Destination.path(bytes)
        }
        return arguments
    }

    /// Opens /dev/null for each standard descriptor that is closed at startup.
    ///
    /// Otherwise the next file opened, such as a journal or a download, would get that number and receive printed text.
    private static func fillStandardDescriptors() {
        for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) < 0 {
            // Opened in the wrong direction, so that reads and writes fail as on a closed descriptor.
            let direction = descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY
            guard open("/dev/null", direction) == descriptor else { _exit(ExitStatus.usage.number) }
        }
    }

    /// Overwrites the values of `-u` and `--user`, including `-uUSER:PASS`; call it after the arguments have been
    /// copied.
    private static func eraseSecretArguments() {
        var isValue = false
        for index in 1..<max(1, Int(CommandLine.argc)) {
            guard let argument = CommandLine.unsafeArgv[index] else { continue }
            let text = String(cString: argument)
            if text == "--" { return }
            // `-u` may be the last of several letters, as in `-qu`. This may also hide the word after another option
            // that ends in "u".
            let isShort = text.hasPrefix("-") && !text.hasPrefix("--")
            defer { isValue = text == "--user" || isShort && text.hasSuffix("u") }
            if let start = isValue ? 0 : self.start(of: text) {
                memset(argument + start, 0x2A, strlen(argument + start))
            }
        }
    }

    // The offset of the secret in `--user=USER:PASS` and `-uUSER:PASS`; nil for any other argument.
    private static func start(of text: String) -> Int? {
        for option in ["--user=", "-u"] where text.hasPrefix(option) && text != option { return option.utf8.count }
        return nil
    }
}

/// How many files and sockets the process may have open (RLIMIT_NOFILE, getrlimit(2)).
enum DescriptorLimit {
    /// Raises the soft limit to the hard one.
    ///
    /// Not used by commands that start others: those inherit the limit, and programs that use select(2) need a low one.
    static func raise() {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return }
        limit.rlim_cur = limit.rlim_max
        // If the system refuses, the limit stays unchanged.
        _ = setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    }
}

/// Explains options of curl(1) that `fetch` and `tasks submit` lack, before the parser reports them as unknown.
enum CurlOption {
    private static let hints: [String: String] = [
        "-k": "use --insecure, or better --cacert FILE",
        "-L": "redirects are followed anyway; --max-redirs 0 turns that off",
        "--location": "redirects are followed anyway; --max-redirs 0 turns that off",
        "-s": "use --quiet", "--silent": "use --quiet", "-S": "errors are always shown",
        "--show-error": "errors are always shown", "-f": "an error status always fails",
        "--fail": "an error status always fails", "-#": "use --progress bar",
        "-I": "use --request HEAD --write-out json; \"tidegate explain URL\" shows the status",
        "--head": "use --request HEAD --write-out json; \"tidegate explain URL\" shows the status",
        "-i": "use --write-out json", "--include": "use --write-out json", "-w": "use --write-out json",
        "--trace-ascii": "use --verbose", "--trace": "use --verbose",
        "-C": "use --continue", "--continue-at": "use --continue", "-d": "use --data", "--data-raw": "use --data",
        "--json": "use --json-body", "-m": "use --max-time", "-x": "use --proxy", "-Y": "use --speed-limit",
        "-y": "use --speed-time",
        "-A": "use -H 'User-Agent: TEXT'", "--user-agent": "use -H 'User-Agent: TEXT'",
        "--form-string": "use --form 'NAME=\"TEXT\"'", "-b": "use -H 'Cookie: TEXT'", "-c": "use --cookie-jar",
        "--cookie": "use -H 'Cookie: TEXT'",
        "--etag-save": "use --validators DIR", "--etag-compare": "use --validators DIR", "-z": "use --validators DIR",
        "--time-cond": "use --validators DIR",
        "-e": "use -H 'Referer: URL'", "--digest": "use --user", "--anyauth": "use --user", "--basic": "use --user",
        "--referer": "use -H 'Referer: URL'", "-Z": "use --parallel N", "--location-trusted": "use --redirects free",
    ]

    // Options that `fetch` has and `tasks submit` lacks.
    private static let known: Set<String> = ["-b", "--cookie"]

    // Options that tasks lack, because the daemon runs them with its own configuration.
    private static let fetchOnly: Set<String> = [
        "-k", "-i", "-w", "-Z", "-#", "-C", "-s", "-I", "-z", "-Y", "-y", "--digest",
    ]

    /// The error message for `arguments` that use an option of curl; nil if none do.
    static func message(for arguments: [String]) -> String? {
        let isSubmission = arguments.starts(with: ["tasks", "submit"])
        guard isSubmission || arguments.first == "fetch" else { return nil }
        for argument in arguments.prefix(while: { $0 != "--" }) where argument.hasPrefix("-") {
            guard let option = self.option(in: argument), let hint = self.hints[option] else { continue }
            if !isSubmission, self.known.contains(option) { continue }
            let isFetchOnly = self.fetchOnly.contains { self.hints[$0] == hint }
            if isSubmission, isFetchOnly { continue }
            return "unknown option '\(option)': \(hint)"
        }
        return nil
    }

    /// The arguments of `fetch` with `-FNAME=VALUE` split in two, because the parser treats `-FNAME` as one option.
    static func separated(_ arguments: [String]) -> [String] {
        guard arguments.first == "fetch" || arguments.starts(with: ["tasks", "submit"]) else { return arguments }
        let end = arguments.firstIndex(of: "--") ?? arguments.endIndex
        let options = arguments[..<end].flatMap { argument in
            argument.hasPrefix("-F") && argument != "-F" ? ["-F", String(argument.dropFirst(2))] : [argument]
        }
        return options + arguments[end...]
    }

    // In a group of letters such as -sSL, the first one that is unknown here.
    private static func option(in argument: String) -> String? {
        guard !argument.hasPrefix("--") else { return argument.split(separator: "=").first.map(String.init) }
        // Whatever follows -u or -F is its value.
        let options = argument.dropFirst().prefix { $0 != "u" && $0 != "F" }.map { "-\($0)" }
        return options.first { self.hints[$0] != nil }
    }
}

/// Finds an unknown command name before the parser does.
///
/// The parser would treat it as an argument and complain about the first option after it.
enum UnknownCommand {
    /// The error message for `arguments`; nil if they begin with known commands.
    static func message(for arguments: [String], root: any ParsableCommand.Type) -> String? {
        var (command, asksForHelp) = (root, false)
        for argument in arguments {
            let commands = command.configuration.subcommands
            if argument.hasPrefix("-") { return command == root ? self.message(forOption: argument) : nil }
            guard !commands.isEmpty else { return nil }
            if argument == "help", command == root {
                asksForHelp = true
                continue
            }
            guard let next = commands.first(where: { self.name($0) == argument }) else {
                let names = commands.map { self.name($0) }
                let hint =
                    NearestMatch.find(argument, among: names).map { "did you mean \"\($0)\"?" }
                    ?? "expected one of \(names.joined(separator: ", "))"
                return "unknown command \"\(argument)\" (\(hint))"
            }
            command = next
        }
        guard !asksForHelp, !command.configuration.subcommands.isEmpty else { return nil }
        let names = command.configuration.subcommands.map { self.name($0) }.joined(separator: ", ")
        let help = command == root ? "tidegate --help" : "tidegate \(self.name(command)) --help"
        return "missing command (expected one of \(names); see \(help))"
    }

    private static func message(forOption option: String) -> String? {
        let known = ["--help", "--version", "-h", "--help-hidden", "--experimental-dump-help"]
        guard !known.contains(option), !option.hasPrefix("--generate-completion-script") else { return nil }
        let likely = option == "-V" ? "--version" : NearestMatch.find(option, among: known)
        return "unknown option '\(option)' (\(likely.map { "did you mean \($0)?" } ?? "see tidegate --help"))"
    }

    private static func name(_ command: any ParsableCommand.Type) -> String {
        command.configuration.commandName ?? ""
    }
}
