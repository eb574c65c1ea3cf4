internal import ArgumentParser

/// `tidegate fetch`: transfers that wait for a path, resume after its loss and report who is at fault for a failure.
struct FetchCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "fetch", abstract: "Transfer URLs; wait while there is no path, and resume when it is back.",
        discussion: """
            A single URL without -o or -O is written to standard output; a terminal gets a binary body only with -o -. \
            A file appears under its name only when it is complete. Ctrl-C keeps what can be continued, and prints the \
            command for it.

            An input file is read as transfers start. A line that is no URL is reported with its number and counts as a \
            failed transfer.

            Examples:
              tidegate fetch -O https://example.com/image.iso
              tidegate fetch --continue -O https://example.com/image.iso
              tidegate fetch --input-file urls.txt --output-dir files --parallel 16

            Exit status: 0 if every transfer succeeded, 1 if one failed, 75 if there was no path within --wait.
            """)

    @OptionGroup var options: FetchOptions

    func run() async throws {
        DescriptorLimit.raise()
        let terminal = Terminal()
        terminal.warn(
            about: self.options.request.secretFiles + [self.options.http.secretFile].compactMap(\.self)
                + self.options.network.trust.keyFiles)
        try await FetchRun(plan: try FetchPlan(self.options), options: self.options, terminal: terminal).run()
    }
}
