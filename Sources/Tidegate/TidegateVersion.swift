/// What this build is.
public enum TidegateVersion {
    /// The version, as semver.org numbers them.
    public static let version = "0.1.0"
}
