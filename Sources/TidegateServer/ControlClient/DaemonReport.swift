/// What a daemon knows of its configured targets, and of the host it runs on.
package struct DaemonReport: Sendable, Hashable, Decodable {
    /// A configured target.
    package struct Target: Sendable, Hashable, Decodable {
        /// Its name in the configuration, or else the same as ``target``.
        package var name: String
        /// Its host, perhaps with a port.
        package var target: String
        /// How far it can be reached, as `level` has it everywhere.
        package var level: String
        /// Why not further; nil if there is no reason.
        package var reason: String?
        /// Whether the last check reached it; nil before the first, and without checks.
        package var reached: Bool?
        /// What the last check that failed found; nil if none did.
        package var lastFailure: Failure?
    }

    /// A check that failed.
    package struct Failure: Sendable, Hashable, Decodable {
        /// Whose failure it was.
        package var party: String
        /// What went wrong.
        package var text: String
    }

    /// The latest diagnosis of the host.
    package struct Diagnosis: Sendable, Hashable, Decodable {
        /// The rung that fails; nil if none does.
        package var firstFailure: String?
        /// What is wrong, as `cause` of `explain --json`; nil if nothing is.
        package var cause: String?
        /// Since when; nil if that is not known.
        package var since: String?
    }

    /// The configured targets.
    package var targets: [Target]
    /// Nil before the first diagnosis.
    package var diagnosis: Diagnosis?
}
