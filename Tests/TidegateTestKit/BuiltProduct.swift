internal import Foundation

/// The executables that were built together with the running tests.
package enum BuiltProduct {
    /// The path of an executable product, such as `tidegate`.
    package static func path(of name: String) -> String {
        let runner = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
        return URL(fileURLWithPath: runner).deletingLastPathComponent().appendingPathComponent(name).path
    }
}
