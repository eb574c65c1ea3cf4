internal import Glibc
internal import TidegateLoop

/// The watched directories; lives on the watch's thread.
final class ResolverWatchWorker: LoopHandler {
    private enum Alarm: UInt64 {
        /// Files have been touched, and are read once whoever touches them is done.
        case settled
        /// Nobody tells of changes, so the files are looked at.
        case poll
    }

    // A file is often made first and filled a moment later.
    private static let settleTime = Duration.milliseconds(20)
    private static let pollInterval = Duration.seconds(5)
    private static let mask = UInt32(
        IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_CREATE | IN_DELETE | IN_DELETE_SELF | IN_MOVE_SELF
            | IN_ONLYDIR)

    private let loop: Loop
    private let files: ResolverFiles
    private let board: ResolverStore
    private let onChange: @Sendable (ResolverSettings) -> Void
    private let notifier: Int32
    private var points = WatchedPaths(for: [])
    // The entries that matter, by watch; the kernel has one watch for a directory, whatever its name.
    private var entries: [Int32: Set<String>] = [:]
    private var alarm: TimerID?

    init(
        loop: Loop, files: ResolverFiles, board: ResolverStore,
        onChange: @escaping @Sendable (ResolverSettings) -> Void
    ) {
        self.loop = loop
        self.files = files
        self.board = board
        self.onChange = onChange
        self.notifier = inotify_init1(Int32(IN_NONBLOCK | IN_CLOEXEC))
        self.start()
    }

    func receive(_ command: Never) {}

    func ready(_ descriptor: Int32, for events: Loop.Interest) {
        var buffer = [UInt8](repeating: 0, count: 4096)
        var isTouched = false
        while true {
            let count = read(descriptor, &buffer, buffer.count)
            guard count > 0 else { break }
            let events = DirectoryEvents.read(buffer[..<count])
            if events.contains(where: self.matters) { isTouched = true }
        }
        if isTouched, self.alarm == nil { self.arm(.settled, after: ResolverWatchWorker.settleTime) }
    }

    func timerFired(_ token: UInt64) {
        self.alarm = nil
        self.look()
    }

    func stopping() {
        if self.notifier >= 0 { close(self.notifier) }
    }

    // A file may have changed between its first reading and the watch.
    private func start() {
        if self.notifier >= 0 { try? self.loop.watch(self.notifier, for: .read) }
        self.look()
    }

    private func look() {
        let isWatched = self.watchFolders()
        let settings = self.files.read()
        if self.board.write(settings) { self.onChange(settings) }
        // Too many watches on this host, or no notifier: what nobody tells has to be looked for.
        if !isWatched { self.arm(.poll, after: ResolverWatchWorker.pollInterval) }
    }

    private func arm(_ alarm: Alarm, after delay: Duration) {
        if let old = self.alarm { self.loop.cancel(old) }
        self.alarm = self.loop.schedule(after: delay, token: alarm.rawValue)
    }

    // An overflow, or a directory that has gone, may hide anything.
    private func matters(_ event: DirectoryEvents.Event) -> Bool {
        guard let names = self.entries[event.watch] else { return event.mask & UInt32(IN_Q_OVERFLOW) != 0 }
        return event.name.isEmpty || names.contains(event.name)
    }

    /// Watches what has to be watched now; false where that is not possible.
    private func watchFolders() -> Bool {
        guard self.notifier >= 0 else { return false }
        // A directory may appear while its parent's watch is made; then the next look finds it.
        for _ in 0..<4 {
            let points = WatchedPaths(for: [self.files.configuration, self.files.upstreams])
            let isNew = points != self.points
            self.points = points
            guard self.watch(points) else { return false }
            if !isNew { break }
        }
        return true
    }

    private func watch(_ points: WatchedPaths) -> Bool {
        var entries: [Int32: Set<String>] = [:]
        for (folder, names) in points.entries {
            let watch = inotify_add_watch(self.notifier, folder, ResolverWatchWorker.mask)
            if watch < 0 {
                // It has gone again, which the next round finds out; anything else is a limit.
                guard errno == ENOENT || errno == ENOTDIR else { return false }
                continue
            }
            entries[watch, default: []].formUnion(names)
        }
        for watch in self.entries.keys where entries[watch] == nil { inotify_rm_watch(self.notifier, watch) }
        self.entries = entries
        return true
    }
}
