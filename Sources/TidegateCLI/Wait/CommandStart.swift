internal import Glibc
internal import TidegateDaemon

/// Gives the process over to another program.
enum CommandStart {
    /// Runs `words` in this process's place; returns only where that failed, with the code that shells give.
    static func replaceProcess(_ words: [String]) -> Ending {
        var arguments: [UnsafeMutablePointer<CChar>?] = words.map { strdup($0) }
        arguments.append(nil)
        // What a library ignored, or the runtime blocked on this thread, the command has not asked for.
        signal(SIGPIPE, SIG_DFL)
        var none = sigset_t()
        sigemptyset(&none)
        pthread_sigmask(SIG_SETMASK, &none, nil)
        execvp(words.first ?? "", arguments)
        let number = errno
        for argument in arguments { free(argument) }
        let sentence = "\(words.first ?? ""): \(TextFile.words(of: number))"
        return number == ENOENT ? Ending(.notFound, sentence) : Ending(.notRunnable, sentence)
    }
}
