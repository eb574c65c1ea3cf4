internal import Synchronization
package import TidegateLoop

/// Keeps the resolver's settings up to date with their files, and reports changes.
///
/// One thread, `tg-resolv-conf`, waits for changes of the files (inotify(7)).
package final class ResolverWatch: Sendable {
    private let store: ResolverStore
    private let thread: LoopThread<ResolverWatchWorker>

    /// Reads the files and starts to watch them.
    ///
    /// `onChange` is called on the watch's thread whenever the settings or the hosts file differ from before; rewriting a
    /// file with the same content is not a change.
    package init(
        _ files: ResolverFiles = ResolverFiles(), onThreadStart: @escaping @Sendable () -> Void = {},
        onChange: @escaping @Sendable (ResolverSettings) -> Void
    ) throws(LoopError) {
        let store = ResolverStore(files.read())
        self.store = store
        // Read here, as the settings are: what changes before the thread begins is a change, too.
        let hosts = SystemFile.text(files.hosts).hashValue
        self.thread = try LoopThread(name: "tg-resolv-conf") { loop in
            onThreadStart()
            return ResolverWatchWorker(loop: loop, files: files, hosts: hosts, store: store, onChange: onChange)
        }
    }

    /// The settings as they are now.
    package var settings: ResolverSettings { self.store.settings }

    /// Ends the watch; ``settings`` keeps its last value.
    package func stop() { self.thread.stop() }
}

/// The settings, readable from any thread.
final class ResolverStore: Sendable {
    private let state: Mutex<ResolverSettings>

    init(_ settings: ResolverSettings) { self.state = Mutex(settings) }

    var settings: ResolverSettings { self.state.withLock { $0 } }

    /// Replaces the settings; true if they differ from before.
    func write(_ settings: ResolverSettings) -> Bool {
        self.state.withLock { known in
            defer { known = settings }
            return known != settings
        }
    }
}
