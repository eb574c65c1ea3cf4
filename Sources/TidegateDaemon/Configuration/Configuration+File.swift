extension Configuration {
    /// Reads the configuration from a file.
    ///
    /// - Throws: ``ConfigurationError``, which names the file and, for every problem, the line and the key.
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
        guard problems.problems.isEmpty else { throw ConfigurationError(problems.problems) }
        return configuration
    }
}
