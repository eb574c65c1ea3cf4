internal import ArgumentParser
internal import Glibc
internal import Tidegate
internal import TidegateDaemon
internal import TidegateIncidents

/// `tidegate report`: outages as a file to print or to send.
struct ReportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "report", abstract: "Write a report of outages to print or to send.",
        discussion: """
            Writes one HTML file with the totals, the method, bars by day and by hour, each outage with its evidence, and a \
            covering letter. Asks the daemon, or without one reads a copy of its journal. Times are local, with their \
            offset from UTC.

            Example: tidegate report --since 2026-10-01 --party upstream -o report.html

            Exit status: 0 if it was written, 1 if not, 2 for usage errors.
            """)

    @OptionGroup var options: IncidentOptions

    @Option(name: .shortAndLong, help: .value("file", "The file (default: standard output)."))
    var output: String?

    @Flag(help: "Write comma-separated values (RFC 4180).")
    var csv = false

    @OptionGroup var control: ControlOptions

    func validate() throws { try OptionParsing.exclude(("--csv", self.csv), ("--json", self.control.output.json)) }

    func run() async throws {
        let now = SystemClock().wall()
        var question = try self.options.question(at: now)
        question.wantsEvidence = true
        let read = try await self.options.source.answer(question, at: now, from: self.control)
        let report = IncidentReport(
            read.answer, from: read.from, to: read.to, host: HostName.current, version: TidegateVersion.description,
            offset: Self.offset)
        let text =
            self.csv
            ? IncidentText.csv(report.json) : (self.control.output.json ? report.json.description : report.html) + "\n"
        guard let output else {
            return Terminal().print(self.csv ? text : TextStyle.escapingControls(text), terminator: "")
        }
        let file = try FileOutput.open(output, of: "--output", permissions: 0o600).mapError(CommandError.init).get()
        _ = file.write(Array(text.utf8))
        if let error = file.finish() { throw CommandError(error) }
        guard !self.control.output.quiet else { return }
        let count = read.answer.incidents.count
        Terminal().print("\(output): \(count) \(count == 1 ? "incident" : "incidents")")
    }

    /// How much the local time of this host is ahead of UTC (localtime_r(3)).
    private static func offset(at time: WallTime) -> Duration {
        var (seconds, parts) = (time_t(time.microseconds / 1_000_000), tm())
        return localtime_r(&seconds, &parts) == nil ? .zero : .seconds(parts.tm_gmtoff)
    }
}
