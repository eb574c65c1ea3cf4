internal import TidegateMetrics

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
