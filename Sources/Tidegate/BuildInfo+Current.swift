package import TidegateMetrics

extension BuildInfo {
    /// This build.
    package static let current = BuildInfo(
        version: TidegateVersion.version, revision: "unknown", swiftVersion: swiftVersion, architecture: architecture)

    private static var swiftVersion: String {
        #if swift(>=6.4)
            "6.4"
        #elseif swift(>=6.3)
            "6.3"
        #else
            "6.2"
        #endif
    }

    private static var architecture: String {
        #if arch(x86_64)
            "x86_64"
        #elseif arch(arm64)
            "arm64"
        #else
            "other"
        #endif
    }
}
