internal import CLinux
internal import FoundationEssentials
internal import Glibc

/// The signals and descriptors that this process inherited and passes on to the commands of its user.
package struct Inheritance: Sendable {
    /// The ignored signals, such as SIGHUP under nohup(1).
    package var ignoredSignals: Set<Int32> = []
    /// The descriptors above standard error, such as those that a shell has redirected.
    package var descriptors: Set<CInt> = []

    /// The inheritance of a program started now; call it before this process opens anything itself.
    package static func current() -> Inheritance {
        Inheritance(
            ignoredSignals: Set(
                (1..<32).filter { number in
                    var action = sigaction()
                    return sigaction(number, nil, &action) == 0
                        && unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self) == 1
                }),
            descriptors: Set(self.open.filter { fcntl($0, F_GETFD) & FD_CLOEXEC == 0 }))
    }

    /// Keeps the descriptors of this process itself from the program that replaces it (execve(2)).
    package func closeOthersOnExec() {
        for descriptor in Self.open where !self.descriptors.contains(descriptor) {
            _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        }
    }

    private static var open: [CInt] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
        return names.compactMap { CInt($0) }.filter { $0 > STDERR_FILENO }
    }
}

/// Starts programs without blocked signals, with an explicit list of descriptors (posix_spawn(3)).
///
/// Libraries open some without the close-on-exec flag, also while a program starts, so the new process closes them.
package struct ProgramStarter: ~Copyable {
    private var attributes = posix_spawnattr_t()
    private var actions = posix_spawn_file_actions_t()

    /// A program gets the standard descriptors or, with an `input`, that one and no output.
    package init(passingOn inherited: Inheritance = Inheritance(), hasOwnGroup: Bool, input: CInt? = nil) {
        posix_spawnattr_init(&self.attributes)
        var (none, usual) = (sigset_t(), sigset_t())
        sigemptyset(&none)
        sigfillset(&usual)
        for number in inherited.ignoredSignals { sigdelset(&usual, number) }
        posix_spawnattr_setsigmask(&self.attributes, &none)
        posix_spawnattr_setsigdefault(&self.attributes, &usual)
        posix_spawnattr_setpgroup(&self.attributes, 0)
        let group = hasOwnGroup ? POSIX_SPAWN_SETPGROUP : 0
        posix_spawnattr_setflags(
            &self.attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | group))
        posix_spawn_file_actions_init(&self.actions)
        if let input {
            posix_spawn_file_actions_adddup2(&self.actions, input, STDIN_FILENO)
            for output in [STDOUT_FILENO, STDERR_FILENO] {
                posix_spawn_file_actions_addopen(&self.actions, output, "/dev/null", O_WRONLY, 0)
            }
        }
        let last = inherited.descriptors.max() ?? STDERR_FILENO
        for descriptor in 3..<max(3, last) where !inherited.descriptors.contains(descriptor) {
            posix_spawn_file_actions_addclose(&self.actions, descriptor)
        }
        posix_spawn_file_actions_addclosefrom_np(&self.actions, last + 1)
    }

    deinit {
        var (attributes, actions) = (self.attributes, self.actions)
        posix_spawnattr_destroy(&attributes)
        posix_spawn_file_actions_destroy(&actions)
    }

    /// Starts a command found on PATH; returns an error number, or 0 and the process id.
    package borrowing func start(_ arguments: [String]) -> (code: Int32, id: Int32) {
        var pointers: [UnsafeMutablePointer<CChar>?] = arguments.map { strdup($0) } + [nil]
        defer { for pointer in pointers { free(pointer) } }
        var id = pid_t()
        var (attributes, actions) = (self.attributes, self.actions)
        let code = posix_spawnp(&id, arguments.first ?? "", &actions, &attributes, &pointers, environ)
        return (code, id)
    }
}
