internal import Glibc
internal import TidegateDaemon

/// Replaces the process by another program.
enum CommandStart {
    /// Executes a command in place of this process (execvp(3)); returns only if that fails, with the exit status that
    /// shells use.
    static func replaceProcess(_ arguments: [String]) -> CommandError {
        var pointers: [UnsafeMutablePointer<CChar>?] = arguments.map { strdup($0) }
        pointers.append(nil)
        // The command must not inherit a signal that a library ignores or that the runtime blocks on this thread.
        signal(SIGPIPE, SIG_DFL)
        var none = sigset_t()
        sigemptyset(&none)
        pthread_sigmask(SIG_SETMASK, &none, nil)
        execvp(arguments.first ?? "", pointers)
        let number = errno
        for pointer in pointers { free(pointer) }
        let message = "\(arguments.first ?? ""): \(TextFile.errorMessage(number))"
        return CommandError(number == ENOENT ? .notFound : .notRunnable, message)
    }
}
