internal import ArgumentParser

/// `-q` and `-v`: how much a command prints.
struct VerbosityOptions: ParsableArguments {
    @Flag(name: .shortAndLong, help: "Print errors only.")
    var quiet = false

    @Flag(name: .shortAndLong, help: "Print more details.")
    var verbose = false

    func validate() throws { try OptionParsing.exclude(("--quiet", self.quiet), ("--verbose", self.verbose)) }
}

/// `--json`, which has every detail, or `-q` or `-v`.
struct OutputOptions: ParsableArguments {
    @Flag(help: "Print JSON.")
    var json = false

    @OptionGroup var verbosity: VerbosityOptions

    var quiet: Bool { self.verbosity.quiet }
    var verbose: Bool { self.verbosity.verbose }

    func validate() throws {
        try OptionParsing.exclude(("--json", self.json), ("--quiet", self.quiet))
        try OptionParsing.exclude(("--json", self.json), ("--verbose", self.verbose))
    }
}
