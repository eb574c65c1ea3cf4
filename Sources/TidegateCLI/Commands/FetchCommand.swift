internal import ArgumentParser

/// `tidegate fetch`: transfers that wait for a path, survive its loss and say whose fault a failure was.
struct FetchCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "fetch", abstract: "Fetch URLs; wait while there is no path, and go on when there is one.",
        discussion: """
            One URL without -o or -O goes to the standard output. A file appears at its place only when it is whole. \
            Ends with 0 when everything is done, 1 when a transfer failed, 75 when there was no path in the time of \
            --wait.
            """)

    @OptionGroup var options: FetchOptions

    func run() async throws {
        var urls = self.options.urls
        if let file = self.options.inputFile { urls += try URLList.read(file) }
        let plan = try FetchPlan(self.options, urls: urls)
        try await FetchRun(plan: plan, options: self.options, terminal: Terminal()).run()
    }
}
