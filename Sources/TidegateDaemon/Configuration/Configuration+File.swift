internal import TidegateCore

extension Configuration {
    /// Reads the configuration from a file.
    ///
    /// - Throws: ``ConfigurationError`` with the file and, for every problem, the line and the key.
    package static func load(file: String) throws(ConfigurationError) -> Configuration {
        let text: String
        do {
            text = try TextFile.read(file, atMost: 1 << 20)
        } catch {
            throw ConfigurationError(file: file, error.description)
        }
        return try Configuration.parse(text, file: file)
    }

    /// Reads the configuration from the text of a file; `file` is its name in messages.
    package static func parse(_ text: String, file: String) throws(ConfigurationError) -> Configuration {
        guard let root = try YAMLFile.parse(text, file: file) else { return Configuration() }
        var problems = ProblemList(file: file)
        var configuration = Configuration()
        problems.read(ConfigurationSchema.root, from: root, into: &configuration)
        problems.refuseOnlineWithoutChecks(configuration, root)
        guard problems.problems.isEmpty else { throw ConfigurationError(problems.problems) }
        do {
            // Finds values that are invalid together, here rather than in Daemon so that a reload finds them too.
            _ = try configuration.monitorConfiguration(version: "")
        } catch {
            throw ConfigurationError(file: file, error.description)
        }
        return configuration
    }
}

extension ProblemList {
    // A gate that nothing can open would hold a task until its patience ends.
    fileprivate mutating func refuseOnlineWithoutChecks(_ configuration: Configuration, _ root: ConfigurationNode) {
        guard !configuration.reachability.internetCheck.isEnabled else { return }
        let gate = root.value(of: "transfers")?.value(of: "gate")?.value(of: "require")
        let tasks = root.value(of: "tasks")?.elements.compactMap { $0.value(of: "require") } ?? []
        for element in ([gate].compactMap(\.self) + tasks).flatMap(\.elements) {
            guard case .scalar("online") = element.content else { continue }
            self.add("\"online\" requires reachability.internet_check to be enabled", at: element)
        }
    }
}
