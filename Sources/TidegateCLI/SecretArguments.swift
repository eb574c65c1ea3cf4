internal import Glibc

/// The arguments of the process as others see them (proc_pid_cmdline(5)).
enum SecretArguments {
    private static let options = ["-u", "--user"]

    /// Overwrites what `-u` and `--user` were given; to be called after the arguments were copied.
    static func erase() {
        var isValue = false
        for index in 1..<max(1, Int(CommandLine.argc)) {
            guard let argument = CommandLine.unsafeArgv[index] else { continue }
            let text = String(cString: argument)
            if text == "--" { return }
            defer { isValue = self.options.contains(text) }
            if let start = isValue ? 0 : self.start(of: text) {
                memset(argument + start, 0x2A, strlen(argument + start))
            }
        }
    }

    // Where the secret begins in `--user=USER:PASS`; nil in anything else.
    private static func start(of text: String) -> Int? {
        text.hasPrefix("--user=") ? "--user=".utf8.count : nil
    }
}
