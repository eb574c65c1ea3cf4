internal import CBuild
package import TidegateMetrics

extension BuildInfo {
    /// This build.
    package static let current = BuildInfo(
        version: TidegateVersion.version, revision: revision, swiftVersion: swiftVersion, architecture: architecture)

    // The commit in 12 digits, with `-dirty` if files differed from it.
    private static var revision: String {
        let commit = tg_build_commit()
        guard commit != 0 else { return "unknown" }
        let digits = String(commit, radix: 16)
        let zeros = String(repeating: "0", count: max(0, 12 - digits.count))
        return zeros + digits + (tg_build_is_modified() ? "-dirty" : "")
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

/// What this build is.
public enum TidegateVersion {
    /// The version, as semver.org numbers them.
    public static let version = "0.1.0"

    /// The version and the commit, as `--version` shows them.
    ///
    /// Only `make` hands the commit to the compiler: what SwiftPM knows of it may be as old as its cache.
    package static var description: String {
        let revision = BuildInfo.current.revision
        return
            "\(self.version) (\(revision == "unknown" ? "commit not known: built without make" : "commit \(revision)"))"
    }
}
