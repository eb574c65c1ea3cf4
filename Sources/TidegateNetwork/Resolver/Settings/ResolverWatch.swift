internal import Glibc
package import TidegateLoop

/// Reports changes of the resolver's settings.
///
/// One thread, `tg-resolv-conf`, waits for changes of their files (inotify(7)).
package final class ResolverWatch: Sendable {
    private let thread: LoopThread<ResolverWatchWorker>

    /// Reads the files and starts watching them.
    ///
    /// `onChange` is called on the watch's thread when the settings or the hosts file differ from before; rewriting a
    /// file with the same content is not a change.
    package init(
        _ files: ResolverFiles = ResolverFiles(), onChange: @escaping @Sendable (ResolverSettings) -> Void
    ) throws(LoopError) {
        // Read here, so that a change before the thread starts is also detected.
        let known = ResolverWatchWorker.Content(files)
        self.thread = try LoopThread(name: "tg-resolv-conf") { loop in
            ResolverWatchWorker(loop: loop, files: files, known: known, onChange: onChange)
        }
    }

    /// Ends the watch.
    package func stop() { self.thread.stop() }
}

/// Watches the directories of the files; runs on the watch's thread.
final class ResolverWatchWorker: LoopHandler {
    /// The content of the files.
    struct Content: Equatable {
        let settings: ResolverSettings
        /// The hash of the hosts file's text, which only has to be compared.
        private let hosts: Int

        init(_ files: ResolverFiles) {
            self.settings = files.read()
            self.hosts = (SystemFiles.text(files.hosts) ?? "").hashValue
        }
    }

    private enum Timer: UInt64 {
        /// Files have changed; they are read after a delay, because a change often has several steps.
        case debounce
        /// Changes are not reported, so the files are read periodically.
        case poll
    }

    // Files are often created first and written a moment later.
    private static let debounceTime = Duration.milliseconds(20)
    private static let pollInterval = Duration.seconds(5)
    private static let mask = UInt32(
        IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_CREATE | IN_DELETE | IN_DELETE_SELF | IN_MOVE_SELF
            | IN_ONLYDIR)

    private let loop: Loop
    private let files: ResolverFiles
    private let onChange: @Sendable (ResolverSettings) -> Void
    private let notifier: Int32
    private var paths = WatchedPaths(for: [])
    // The relevant entries by watch; the kernel has one watch for a directory, even if it is reached by several paths.
    private var entries: [Int32: Set<String>] = [:]
    private var timer: TimerID?
    private var known: Content

    init(
        loop: Loop, files: ResolverFiles, known: Content, onChange: @escaping @Sendable (ResolverSettings) -> Void
    ) {
        self.loop = loop
        self.files = files
        self.onChange = onChange
        self.notifier = inotify_init1(Int32(IN_NONBLOCK | IN_CLOEXEC))
        self.known = known
        if self.notifier >= 0 { try? self.loop.watch(self.notifier, for: .read) }
        // A file may have changed between the first read and the start of the watch.
        self.reload()
    }

    func receive(_ command: Never) {}

    func ready(_ descriptor: Int32, for events: Loop.Interest) {
        var buffer = [UInt8](repeating: 0, count: 4096)
        var isChanged = false
        while true {
            let count = read(descriptor, &buffer, buffer.count)
            guard count > 0 else { break }
            let events = DirectoryEvents.read(buffer[..<count])
            if events.contains(where: self.isRelevant) { isChanged = true }
        }
        if isChanged, self.timer == nil { self.schedule(.debounce, after: ResolverWatchWorker.debounceTime) }
    }

    func timerFired(_ token: UInt64) {
        self.timer = nil
        self.reload()
    }

    func stopping() {
        if self.notifier >= 0 { close(self.notifier) }
    }

    private func reload() {
        let isWatched = self.watchFolders()
        let content = Content(self.files)
        guard !content.settings.isUnread else { return self.schedule(.poll, after: ResolverWatchWorker.pollInterval) }
        if content != self.known { self.onChange(content.settings) }
        self.known = content
        // Without inotify, or with too many watches on this host, the files are polled.
        if !isWatched { self.schedule(.poll, after: ResolverWatchWorker.pollInterval) }
    }

    private func schedule(_ timer: Timer, after delay: Duration) {
        if let old = self.timer { self.loop.cancel(old) }
        self.timer = self.loop.schedule(after: delay, token: timer.rawValue)
    }

    // After an overflow, or if the directory is removed, any file may have changed.
    private func isRelevant(_ event: DirectoryEvents.Event) -> Bool {
        guard let names = self.entries[event.watch] else { return event.mask & UInt32(IN_Q_OVERFLOW) != 0 }
        return event.name.isEmpty || names.contains(event.name)
    }

    /// Watches the directories that exist now; false if that is not possible.
    private func watchFolders() -> Bool {
        guard self.notifier >= 0 else { return false }
        // A directory may appear while its parent's watch is added; the next round finds it.
        for _ in 0..<4 {
            let paths = WatchedPaths(for: self.files.all)
            let isNew = paths != self.paths
            self.paths = paths
            guard self.watch(paths) else { return false }
            if !isNew { break }
        }
        return true
    }

    private func watch(_ paths: WatchedPaths) -> Bool {
        var entries: [Int32: Set<String>] = [:]
        for (folder, names) in paths.entries {
            let watch = inotify_add_watch(self.notifier, folder, ResolverWatchWorker.mask)
            if watch < 0 {
                // The directory was removed since, which the next round notices; any other error is a limit.
                guard errno == ENOENT || errno == ENOTDIR else { return false }
                continue
            }
            entries[watch, default: []].formUnion(names)
        }
        // A bind-mounted file, as in containers, is not an entry of the directory where it appears.
        for file in self.files.all {
            let watch = inotify_add_watch(self.notifier, file, UInt32(IN_CLOSE_WRITE))
            if watch >= 0 { entries[watch] = [] }
        }
        for watch in self.entries.keys where entries[watch] == nil { inotify_rm_watch(self.notifier, watch) }
        self.entries = entries
        return true
    }
}

/// Decodes the events of inotify(7).
struct DirectoryEvents {
    /// An event about a directory or an entry in it.
    struct Event: Hashable {
        let watch: Int32
        let mask: UInt32
        /// The entry; empty if the event is about the directory itself.
        let name: String
    }

    /// The complete events in `bytes`; never reads beyond them, whatever they contain.
    static func read(_ bytes: ArraySlice<UInt8>) -> [Event] {
        var events: [Event] = []
        var rest = bytes
        while rest.count >= MemoryLayout<inotify_event>.size {
            let header = rest.withUnsafeBytes { $0.loadUnaligned(as: inotify_event.self) }
            rest = rest.dropFirst(MemoryLayout<inotify_event>.size)
            guard rest.count >= Int(header.len) else { break }
            let name = rest.prefix(Int(header.len)).prefix { $0 != 0 }
            events.append(Event(watch: header.wd, mask: header.mask, name: String(decoding: name, as: UTF8.self)))
            rest = rest.dropFirst(Int(header.len))
        }
        return events
    }
}

/// The directories to watch, and the relevant entries in them, so that no change of some files is missed.
///
/// Files are usually replaced instead of written, and the service that owns a directory creates and removes it. A file
/// is therefore watched through the deepest existing directory of its path, and through every symbolic link.
struct WatchedPaths: Hashable {
    private(set) var entries: [String: Set<String>] = [:]

    // More symbolic links in a row than occur in practice.
    private static let longestChain = 8

    init(for paths: [String]) {
        for path in paths { self.add(path) }
    }

    private mutating func add(_ path: String) {
        var path = path
        for _ in 0..<WatchedPaths.longestChain {
            let (folder, name) = WatchedPaths.split(path)
            guard WatchedPaths.isFolder(folder) else { return self.addAncestor(of: folder) }
            self.entries[folder, default: []].insert(name)
            guard let target = SystemFiles.target(of: path) else { return }
            path = target.hasPrefix("/") ? target : "\(folder)/\(target)"
        }
    }

    private mutating func addAncestor(of folder: String) {
        var folder = folder
        while folder != "/" {
            let (parent, name) = WatchedPaths.split(folder)
            if WatchedPaths.isFolder(parent) {
                self.entries[parent, default: []].insert(name)
                return
            }
            folder = parent
        }
    }

    private static func split(_ path: String) -> (folder: String, name: String) {
        guard let slash = path.lastIndex(of: "/") else { return (".", path) }
        let folder = String(path[..<slash])
        return (folder.isEmpty ? "/" : folder, String(path[path.index(after: slash)...]))
    }

    private static func isFolder(_ path: String) -> Bool {
        var information = stat()
        return stat(path, &information) == 0 && information.st_mode & S_IFMT == S_IFDIR
    }
}
