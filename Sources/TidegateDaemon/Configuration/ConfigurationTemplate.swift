/// What `tidegate generate config` prints.
package enum ConfigurationTemplate {
    /// A configuration file with every key, its default and a sentence about it.
    package static var text: String {
        let head = """
            # The configuration of tidegate serve: every key with its default. A file needs only the keys that differ.
            # Durations are written as 500ms, 10s, 1m30s, 2h or 7d, and inf where there may be no limit. Entries of lists
            # stand in comments, with examples.
            """
        let sections = ConfigurationSchema.root.compactMap(\.text).map { $0.lines().joined(separator: "\n") }
        return ([head] + sections).joined(separator: "\n\n") + "\n"
    }
}
