internal import ArgumentParser

/// `tidegate fetch`: transfers that wait for a path, resume after its loss and report who is at fault for a failure.
struct FetchCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "fetch", abstract: "Transfer URLs; wait while there is no path, and resume when it is back.",
        discussion: """
            A single URL without -o or -O is written to standard output. A file appears under its name only when it \
            is complete.

            Exit status: 0 if every transfer succeeded, 1 if one failed, 75 if there was no path within --wait.
            """)

    @OptionGroup var options: FetchOptions

    func run() async throws {
        var urls = self.options.urls
        if let file = self.options.inputFile { urls += try URLList.read(file) }
        let plan = try FetchPlan(self.options, urls: urls)
        try await FetchRun(plan: plan, options: self.options, terminal: Terminal()).run()
    }
}
