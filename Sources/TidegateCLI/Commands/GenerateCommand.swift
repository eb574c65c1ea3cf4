internal import ArgumentParser
internal import TidegateDaemon

/// `tidegate generate`: files to begin with.
struct GenerateCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "generate", abstract: "Print files to begin with.", subcommands: [GenerateConfigCommand.self])
}

/// `tidegate generate config`: the sidecar's configuration file.
struct GenerateConfigCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "config", abstract: "Print a configuration file with every key, its default and what it is for.",
        discussion: """
            The file does what the sidecar does without one. Keep the keys that you change.

            Example: tidegate generate config > tidegate.yml && tidegate serve --config.file tidegate.yml
            """)

    func run() throws { Terminal().print(String(ConfigurationTemplate.text.dropLast())) }
}
