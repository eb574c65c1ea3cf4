internal import ArgumentParser

/// Where bodies go.
struct DestinationOptions: ParsableArguments {
    @Option(
        name: .shortAndLong,
        help: ArgumentHelp("Write the body to this file; - is the standard output.", valueName: "file"))
    var output: String?

    @Flag(name: [.customShort("O"), .long], help: "Name each file after the last part of its URL.")
    var remoteName = false

    @Option(help: ArgumentHelp("Put the files into this directory, each named after its URL.", valueName: "dir"))
    var outputDir: String?

    @Flag(help: "Read the bodies and keep nothing.")
    var discard = false

    func validate() throws {
        if self.outputDir == "" { throw ValidationError("--output-dir: \"\" does not name a directory") }
        let given = [
            self.output.map { _ in "-o" }, self.remoteName ? "-O" : nil, self.outputDir.map { _ in "--output-dir" },
            self.discard ? "--discard" : nil,
        ].compactMap(\.self)
        guard given.count > 1, given != ["-O", "--output-dir"] else { return }
        throw ValidationError("\(given[0]) and \(given[1]) exclude each other")
    }
}
