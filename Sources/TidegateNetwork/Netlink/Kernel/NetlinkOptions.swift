package import TidegateCore

/// How the kernel is watched.
package struct NetlinkOptions: Sendable {
    /// The sockets.
    package enum SocketKind: Sendable, Hashable {
        /// Hears multicast, never asks.
        case monitor
        /// Asks, never hears multicast.
        case query
        /// Hears about neighbours, while somebody watches any.
        case neighbours
    }

    /// Stands between the kernel and the decoder.
    package typealias Edit = @Sendable (SocketKind, [UInt8]) -> [UInt8]

    /// Look once, join nothing.
    package var isOnce: Bool
    /// The receive buffer to ask for, in bytes; the kernel doubles it.
    package var receiveBufferBytes: Int
    /// Runs on the thread before the first socket is opened; a test enters its namespace here.
    package var onThreadStart: @Sendable () -> Void
    /// Stands in for a kernel or sandbox that refuses a socket; asked before each one is opened.
    package var refusal: @Sendable (SocketKind) -> NetlinkError?
    /// The file of another network namespace to watch (`/run/netns/NAME`); let go once the name is deleted.
    package var namespace: String?
    /// Hears the descriptor of each socket that was opened; a test may break it.
    package var onOpen: @Sendable (SocketKind, Int32) -> Void = { _, _ in }
    /// Changes what the kernel sent, where a test wants it to have sent something else.
    package var edit: Edit?
    /// Makes datagrams beyond this many bytes too long to be read; asked before each one.
    package var datagramLimit: @Sendable (SocketKind) -> Int = { _ in .max }

    /// How long the machine has slept since it was started; a test may send it to sleep.
    package var slept: @Sendable () -> Duration = ProcSysFiles.slept

    package init(
        isOnce: Bool = false, receiveBufferBytes: Int = 8 << 20, onThreadStart: @escaping @Sendable () -> Void = {},
        refusal: @escaping @Sendable (SocketKind) -> NetlinkError? = { _ in nil }
    ) {
        self.isOnce = isOnce
        self.receiveBufferBytes = receiveBufferBytes
        self.onThreadStart = onThreadStart
        self.refusal = refusal
    }
}

/// What the kernel's side has to tell after a batch.
package struct NetlinkChanges: Sendable {
    /// What was heard or missed, for the bus.
    package var events: [NetlinkEvent] = []
    /// Something may have changed: look again.
    package var isDirty = false
    /// A link or an address was lost: look at once.
    package var isLoss = false
    /// Watched neighbours whose entries have changed, as they are now; those that are gone are `none`.
    package var neighbours: [KernelNeighbour] = []
    /// The sight changed: blind, or seeing again, or in another mode.
    package var isStateChanged = false

    package init() {}
}
