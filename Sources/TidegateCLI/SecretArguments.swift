internal import Glibc

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
