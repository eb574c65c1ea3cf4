internal import Foundation

/// For tests that measure time, flood the kernel or start hundreds of processes.
///
/// `.enabled(if: QuietMachine.isAvailable, "needs a quiet machine")` declares one: `Tests/run` leaves it out while the
/// other tests run, and runs it afterwards, one at a time. Without `Tests/run` it runs with the others.
package enum QuietMachine {
    /// False while other tests run.
    package static let isAvailable = ProcessInfo.processInfo.environment["TIDEGATE_QUIET_MACHINE"] != "no"
}
