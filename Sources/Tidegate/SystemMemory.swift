internal import TidegateLoop

/// The memory of this process, for a program that runs for long.
package struct SystemMemory: Sendable {
    package init() {}

    /// Gives back what only starting needed; what is used after all comes back by itself.
    package func giveBack() { ProcessMemory.releaseStartupPages() }
}
