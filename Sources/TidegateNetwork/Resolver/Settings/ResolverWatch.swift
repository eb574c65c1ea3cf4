package import TidegateLoop

/// Reports changes of the resolver's settings.
///
/// One thread, `tg-resolv-conf`, waits for changes of their files (inotify(7)).
package final class ResolverWatch: Sendable {
    private let thread: LoopThread<ResolverWatchWorker>

    /// Reads the files and starts to watch them.
    ///
    /// `onChange` is called on the watch's thread whenever the settings or the hosts file differ from before; rewriting a
    /// file with the same content is not a change.
    package init(
        _ files: ResolverFiles = ResolverFiles(), onChange: @escaping @Sendable (ResolverSettings) -> Void
    ) throws(LoopError) {
        // Read here: what changes before the thread begins is a change, too.
        let known = ResolverWatchWorker.Content(files)
        self.thread = try LoopThread(name: "tg-resolv-conf") { loop in
            ResolverWatchWorker(loop: loop, files: files, known: known, onChange: onChange)
        }
    }

    /// Ends the watch.
    package func stop() { self.thread.stop() }
}
