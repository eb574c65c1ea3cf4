internal import Synchronization
package import TidegateLoop

/// Keeps the resolver's settings up to date with their files, and tells when they have changed.
///
/// One thread, `tg-resolv-conf`, waits for the kernel's word (inotify(7)).
package final class ResolverWatch: Sendable {
    private let board: ResolverStore
    private let thread: LoopThread<ResolverWatchWorker>

    /// Reads the files and starts to watch them.
    ///
    /// `onChange` is called on the watch's thread whenever the settings are others than before; a file that was only
    /// rewritten is no change.
    package init(
        _ files: ResolverFiles = ResolverFiles(), onThreadStart: @escaping @Sendable () -> Void = {},
        onChange: @escaping @Sendable (ResolverSettings) -> Void
    ) throws(LoopError) {
        let board = ResolverStore(files.read())
        self.board = board
        self.thread = try LoopThread(name: "tg-resolv-conf") { loop in
            onThreadStart()
            return ResolverWatchWorker(loop: loop, files: files, board: board, onChange: onChange)
        }
    }

    /// The settings as they are now.
    package var settings: ResolverSettings { self.board.settings }

    /// Ends the watch; the settings stay as they were last.
    package func stop() { self.thread.stop() }
}

/// The settings as others may read them.
final class ResolverStore: Sendable {
    private let state: Mutex<ResolverSettings>

    init(_ settings: ResolverSettings) { self.state = Mutex(settings) }

    var settings: ResolverSettings { self.state.withLock { $0 } }

    /// Writes the settings up; true where they are others than before.
    func write(_ settings: ResolverSettings) -> Bool {
        self.state.withLock { known in
            defer { known = settings }
            return known != settings
        }
    }
}
