package import TidegateCore

/// What changed with one batch of messages, or with the connection to the kernel.
package struct NetlinkChanges: Sendable {
    /// What was received or lost, for the bus.
    package var events: [NetlinkEvent] = []
    /// Something may have changed: evaluate again.
    package var isDirty = false
    /// A link or an address was lost: evaluate without delay.
    package var isLoss = false
    /// Watched neighbours whose entries have changed, as they are now; removed ones have the state `none`.
    package var neighbours: [KernelNeighbour] = []
    /// ``NetlinkClient/state`` changed.
    package var isStateChanged = false

    package init() {}
}
