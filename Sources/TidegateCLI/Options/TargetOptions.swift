internal import ArgumentParser
internal import TidegateCore

/// `--target`, as often as wanted.
struct TargetOptions: ParsableArguments {
    @Option(name: .customLong("target"), help: ArgumentHelp("Judge this target too.", valueName: "host[:port]"))
    var texts: [String] = []

    /// The targets in the order given.
    func targets() throws -> [Target] {
        try self.texts.map { try OptionParsing.target($0, of: "--target") }
    }

    func validate() throws { _ = try self.targets() }
}
