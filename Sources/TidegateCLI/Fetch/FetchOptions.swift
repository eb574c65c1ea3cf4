internal import ArgumentParser
internal import Tidegate
internal import TidegateDaemon

/// Everything that `fetch` was told.
struct FetchOptions: ParsableArguments {
    @Argument(help: ArgumentHelp("What to fetch.", valueName: "url"))
    var urls: [String] = []

    @Option(
        help: ArgumentHelp("Fetch the URLs in this file too, one a line; - is the standard input.", valueName: "file"))
    var inputFile: String?

    @OptionGroup(title: "Where bodies go")
    var destination: DestinationOptions

    @Flag(name: .customLong("continue"), help: "Continue what an earlier run left, and leave what this one got.")
    var continues = false

    @OptionGroup(title: "What is asked")
    var request: RequestOptions

    @OptionGroup(title: "Patience")
    var patience: TimeoutOptions

    @OptionGroup(title: "The line")
    var line: NetworkOptions

    @Option(help: ArgumentHelp("Show progress: bars, a line per event, or nothing.", valueName: "how"))
    var progress: ProgressStyle = .auto

    @Flag(name: .shortAndLong, help: "Say nothing but why something failed.")
    var quiet = false

    @Option(help: ArgumentHelp("Print an object per finished transfer.", valueName: "format"))
    var writeOut: WriteOut?

    /// How progress is shown.
    enum ProgressStyle: String, ExpressibleByArgument, CaseIterable {
        case auto, bar, plain, none
    }

    /// What is printed for a finished transfer.
    enum WriteOut: String, ExpressibleByArgument, CaseIterable {
        case json
    }

    func validate() throws {
        if self.urls.isEmpty, self.inputFile == nil {
            throw ValidationError("there is nothing to fetch: give a URL or --input-file")
        }
        if self.quiet, self.progress == .bar || self.progress == .plain {
            throw ValidationError("--quiet and --progress \(self.progress.rawValue) exclude each other")
        }
        if self.continues, self.destination.discard { throw ValidationError("--continue needs a file to continue") }
    }
}
