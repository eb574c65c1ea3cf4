internal import Foundation

/// For tests that measure memory or time, which a sanitizer multiplies.
package enum Sanitizer {
    /// False under `make sanitize`.
    package static let isAbsent = ProcessInfo.processInfo.environment["TIDEGATE_SANITIZER"] == nil
}
