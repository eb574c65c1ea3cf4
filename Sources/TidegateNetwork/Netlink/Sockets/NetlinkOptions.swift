internal import TidegateCore

/// How the kernel is watched, with the hooks by which tests stand in for it.
package struct NetlinkOptions: Sendable {
    /// The sockets by what they are for.
    package enum SocketKind: Sendable, Hashable {
        /// Receives multicast, sends no requests.
        case monitor
        /// Sends requests, receives no multicast.
        case query
        /// Receives changes of neighbours while any are watched.
        case neighbours
        /// Receives messages about sockets of programs that end.
        case socketEndings
        /// Lists sockets of programs.
        case socketDumps
    }

    /// Replaces a datagram between the kernel and the decoder.
    package typealias Edit = @Sendable (SocketKind, [UInt8]) -> [UInt8]

    /// Read everything once and join no multicast group.
    package var isOnce = false
    /// The receive buffer to request, in bytes; the kernel doubles it.
    package var receiveBufferBytes = 8 << 20
    /// Runs on the thread before the first socket is opened; a test enters its namespace here.
    package var onThreadStart: @Sendable () -> Void = {}
    /// Called before a socket is opened; an error stands for a kernel or sandbox that refuses it.
    package var refusal: @Sendable (SocketKind) -> NetlinkError? = { _ in nil }
    /// The file of another network namespace to watch (`/run/netns/NAME`); left once the name is deleted.
    package var namespace: String?
    /// Called with the descriptor of each socket that was opened; a test may break it.
    package var onOpen: @Sendable (SocketKind, Int32) -> Void = { _, _ in }
    /// Replaces datagrams of the kernel's.
    package var edit: Edit?
    /// Datagrams with more bytes count as longer than the buffer; called before each one.
    package var datagramLimit: @Sendable (SocketKind) -> Int = { _ in .max }
    /// How long the machine has been suspended since boot.
    package var suspended: @Sendable () -> Duration = SystemFiles.suspended
}

extension NetlinkOptions {
    /// Sockets as they are usually opened.
    package init(onThreadStart: @escaping @Sendable () -> Void = {}) { self.onThreadStart = onThreadStart }
}
