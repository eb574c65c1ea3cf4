internal import NIOCore
internal import NIOPosix

/// The event loops that all servers of a process use.
package enum ServerLoops {
    /// NIO's own group, which lives as long as the process.
    ///
    /// A group that ends with its server would be shut down while a response that the server has abandoned still uses
    /// it, and NIO ends the process for that.
    static var group: MultiThreadedEventLoopGroup { .singleton }

    /// Makes the group a single thread, which is enough for scrapes; to be called before the first server starts.
    package static func useOneThread() { NIOSingletons.groupLoopCountSuggestion = 1 }
}
