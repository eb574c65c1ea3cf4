@testable import TidegateDaemon

extension Configuration {
    /// Reads the configuration from the text of a file; `file` is its name in messages.
    static func parse(_ text: String, file: String) throws(ConfigurationError) -> Configuration {
        guard let root = try YAMLFile.parse(text, file: file) else { return Configuration() }
        return try Configuration(root, name: file)
    }
}
