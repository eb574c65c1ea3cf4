internal import ArgumentParser
internal import TidegateCore

/// `--target`, repeatable.
struct TargetOptions: ParsableArguments {
    @Option(
        name: .customLong("target"),
        help: ArgumentHelp("Also check this target (repeatable).", valueName: "host[:port]"))
    var texts: [String] = []

    /// The targets in the order given.
    func targets() throws -> [Target] {
        try self.texts.map { try OptionParsing.naming("--target", Target($0, zone: TargetText.zone)) }
    }

    func validate() throws { _ = try self.targets() }
}
