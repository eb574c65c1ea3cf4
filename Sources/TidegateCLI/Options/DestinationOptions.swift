internal import ArgumentParser

/// Where response bodies are written.
struct DestinationOptions: ParsableArguments {
    @Option(
        name: .shortAndLong,
        help: ArgumentHelp("Write the body to this file; - is standard output.", valueName: "file"))
    var output: String?

    @Flag(name: [.customShort("O"), .long], help: "Name each file after the last path segment of its URL.")
    var remoteName = false

    @Option(help: ArgumentHelp("Write files to this directory, each named after its URL.", valueName: "dir"))
    var outputDir: String?

    @Flag(help: "Create missing directories of -o and --output-dir.")
    var createDirs = false

    @Flag(help: "Discard the bodies.")
    var discard = false

    func validate() throws {
        if self.createDirs, self.output == nil, self.outputDir == nil {
            throw ValidationError("--create-dirs requires -o or --output-dir")
        }
        if self.outputDir == "" { throw ValidationError("--output-dir: directory name is empty") }
        let given = [
            self.output.map { _ in "-o" }, self.remoteName ? "-O" : nil, self.outputDir.map { _ in "--output-dir" },
            self.discard ? "--discard" : nil,
        ].compactMap(\.self)
        guard given.count > 1, given != ["-O", "--output-dir"] else { return }
        throw ValidationError("\(given[0]) and \(given[1]) are mutually exclusive")
    }
}
