internal import CBuild
internal import TidegateCore
package import TidegateMetrics

extension BuildInfo {
    /// The current build.
    package static let current = BuildInfo(
        version: TidegateVersion.version, revision: revision, swiftVersion: swiftVersion, architecture: architecture)

    // The first 12 digits of the commit, with `-dirty` if files differed from it.
    private static var revision: String {
        let commit = tg_build_commit()
        guard commit != 0 else { return "unknown" }
        return String(commit, radix: 16).padded(to: 12) + (tg_build_is_modified() ? "-dirty" : "")
    }

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

/// The version of the library.
public enum TidegateVersion {
    /// The version according to semver.org.
    public static let version = "0.1.0"

    /// The version and the commit, as printed by `--version`.
    ///
    /// Only `make` passes the commit to the compiler, because SwiftPM may use a cached one.
    package static var description: String {
        let revision = BuildInfo.current.revision
        return
            "\(self.version) (\(revision == "unknown" ? "commit not known: built without make" : "commit \(revision)"))"
    }
}
