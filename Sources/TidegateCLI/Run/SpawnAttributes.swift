internal import Glibc

/// The attributes of posix_spawn(3): no signal blocked, and only inherited signals ignored.
struct SpawnAttributes: ~Copyable {
    private var raw = posix_spawnattr_t()

    init(hasOwnGroup: Bool, ignored: Set<Int32>) {
        posix_spawnattr_init(&self.raw)
        var (none, usual) = (sigset_t(), sigset_t())
        sigemptyset(&none)
        sigfillset(&usual)
        for number in ignored { sigdelset(&usual, number) }
        posix_spawnattr_setsigmask(&self.raw, &none)
        posix_spawnattr_setsigdefault(&self.raw, &usual)
        posix_spawnattr_setpgroup(&self.raw, 0)
        let group = hasOwnGroup ? POSIX_SPAWN_SETPGROUP : 0
        posix_spawnattr_setflags(&self.raw, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | group))
    }

    deinit {
        var raw = self.raw
        posix_spawnattr_destroy(&raw)
    }

    /// Starts a command, found on PATH; returns an error number, or 0 and the process id.
    borrowing func spawn(_ arguments: [String]) -> (code: Int32, id: pid_t) {
        var pointers: [UnsafeMutablePointer<CChar>?] = arguments.map { strdup($0) } + [nil]
        defer { for pointer in pointers { free(pointer) } }
        var id = pid_t()
        var raw = self.raw
        let code = posix_spawnp(&id, arguments.first ?? "", nil, &raw, &pointers, environ)
        return (code, id)
    }
}
