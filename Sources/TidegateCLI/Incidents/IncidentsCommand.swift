internal import ArgumentParser
internal import Tidegate
internal import TidegateIncidents
internal import TidegateServer

/// `tidegate incidents`: the outages that the sidecar has recorded.
struct IncidentsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "incidents", abstract: "List recorded outages: when, how long, and who was responsible.",
        discussion: """
            The sidecar records every outage of this host's way out, of its targets and of its probes, and when it was \
            watching. An outage is proven if the responsible party answered or this host's own kernel reports it, and \
            probable if silence is the only evidence.

            Examples:
              tidegate incidents --since 30d --party upstream
              tidegate incidents show 019a21ee
              tidegate incidents note 019a21ee "line fault" --reference T-4711
              tidegate incidents plan --from 2026-12-01T02:00:00Z --to 2026-12-01T04:00:00Z "new router"
            """,
        subcommands: [
            IncidentsListCommand.self, IncidentsShowCommand.self, IncidentsNoteCommand.self, IncidentsPlanCommand.self,
        ],
        defaultSubcommand: IncidentsListCommand.self)
}

/// `tidegate incidents list`.
struct IncidentsListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "List outages, the newest first, and their totals.",
        discussion: """
            Asks the daemon, or without one reads a copy of its journal. Availability is the share of watched time without \
            an outage of the way out, or of --target.

            Exit status: 0, also without an outage; 1 if the incidents cannot be read, 2 for usage errors.
            """)

    @OptionGroup var options: IncidentOptions

    @Option(help: .value("scope", "Only network, gateway, target, probe or uplink."))
    var scope: String?

    @Flag(help: "Only ongoing outages.")
    var open = false

    @Flag(help: "Print comma-separated values (RFC 4180).")
    var csv = false

    @OptionGroup var control: ControlOptions

    func validate() throws {
        _ = try self.options.question(scope: self.scope, at: SystemClock().wall())
        try OptionParsing.exclude(("--csv", self.csv), ("--json", self.control.output.json))
    }

    func run() async throws {
        let (terminal, now) = (Terminal(), SystemClock().wall())
        var question = try self.options.question(scope: self.scope, at: now)
        question.isOpenOnly = self.open
        let read = try await self.options.source.answer(question, at: now, from: self.control)
        guard !self.control.output.quiet else { return }
        let json = { read.answer.json(from: read.from, to: read.to) }
        if self.csv { return terminal.print(IncidentText.csv(json()), terminator: "") }
        if self.control.output.json { return terminal.print(json().description) }
        for line in IncidentText.lines(read, terminal.outputStyle) { terminal.print(line) }
    }
}

/// An incident that a command names by its id.
struct IncidentReference: ParsableArguments {
    @Argument(help: "The incident's id, or an unambiguous beginning of it.")
    var id: String

    private static let mostCandidates = 4

    func find(_ control: ControlOptions, _ source: IncidentSource) async throws(CommandError) -> Incident {
        let now = SystemClock().wall()
        var question = IncidentQuestion()
        (question.since, question.id, question.wantsEvidence) = (WallTime(microseconds: 0), self.id.lowercased(), true)
        question.limit = Self.mostCandidates + 1
        let found = try await source.answer(question, at: now, from: control).answer.incidents
        guard let first = found.first else { throw CommandError(.no, "no incident has the id \(self.id)") }
        guard found.count == 1 else {
            let shown = found.prefix(Self.mostCandidates).map { "\($0.id) (\($0.start.dateAndTime), \($0.subject))" }
            let list = shown.joined(separator: ", ") + (found.count > shown.count ? " and more" : "")
            throw CommandError(.usage, "\"\(self.id)\" fits several incidents: \(list)")
        }
        return first
    }
}

/// `tidegate incidents show`.
struct IncidentsShowCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show", abstract: "Show an outage with its evidence.",
        discussion: """
            Exit status: 0 if there is such an incident, 1 if there is not, 2 for usage errors, such as a beginning that \
            fits several ids.
            """)

    @OptionGroup var reference: IncidentReference
    @OptionGroup var source: IncidentSource
    @OptionGroup var control: ControlOptions

    func run() async throws {
        let incident = try await self.reference.find(self.control, self.source)
        let now = SystemClock().wall()
        self.control.print(
            incident.json(at: now).adding(.init("evidence", incident.evidence))
        ) { IncidentText.details(incident, at: now, $0) }
    }
}

/// `tidegate incidents note`.
struct IncidentsNoteCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "note", abstract: "Write a note to an outage, with a ticket and when it was reported.",
        discussion: """
            Replaces the note that it has. Reports contain it. Needs the daemon.

            Exit status: 0 if it was written, 1 if not, 2 for usage errors, such as a beginning that fits several ids.
            """)

    @OptionGroup var incident: IncidentReference

    @Argument(help: "The note.")
    var text: String

    @Option(help: .value("number", "The number of the ticket."))
    var reference: String?

    @Option(help: .value("time", "When the outage was reported to the responsible party."))
    var reported: String?

    @Flag(help: "It was maintenance: availability leaves it out.")
    var planned = false

    @OptionGroup var control: ControlOptions

    func validate() throws { _ = try self.time() }

    func run() async throws {
        let reported = try self.time()
        let incident = try await self.incident.find(self.control, try IncidentSource.parse([]))
        let note: JSONValue = [
            "text": .string(self.text), "reference": .optional(self.reference),
            "reportedAt": .optional(reported?.description), "planned": .bool(self.planned),
        ]
        let reply = try await self.control.connecting(try await self.control.client.note(note, on: incident.id))
        self.control.show(reply) { _, _ in ["Noted on \(incident.id)."] }
    }

    private func time() throws -> WallTime? {
        try self.reported.map { try IncidentsPlanCommand.time($0, option: "--reported") }
    }
}

/// `tidegate incidents plan`.
struct IncidentsPlanCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "plan", abstract: "Plan maintenance, which availability leaves out.",
        discussion: """
            Outages that begin in the planned time are recorded and marked. Without a text, prints what is planned. Needs \
            the daemon.

            Exit status: 0 if it was done, 1 if not, 2 for usage errors.
            """)

    @Argument(help: "What is planned.")
    var text: String?

    @Option(help: .value("time", "Its start: 2026-12-01T02:00:00Z."))
    var from: String?

    @Option(help: .value("time", "Its end."))
    var to: String?

    @Option(help: .value("id", "Remove planned maintenance."))
    var remove: String?

    @OptionGroup var control: ControlOptions

    func validate() throws {
        if self.text != nil, let from, let to {
            let (start, end) = (try Self.time(from, option: "--from"), try Self.time(to, option: "--to"))
            guard start < end else { throw ValidationError("--from \(start) is not before --to \(end)") }
            guard self.remove == nil else { throw ValidationError("--remove takes no plan") }
        } else if self.text != nil || self.from != nil || self.to != nil {
            throw ValidationError("a plan needs --from, --to and a text")
        }
    }

    func run() async throws {
        if let remove {
            let reply = try await self.control.connecting(try await self.control.client.removePlan(remove))
            self.control.show(reply) { _, _ in ["Removed."] }
        } else if let text, let from, let to {
            let plan: JSONValue = [
                "from": .string(try Self.time(from, option: "--from").description),
                "to": .string(try Self.time(to, option: "--to").description), "text": .string(text),
            ]
            let reply = try await self.control.connecting(try await self.control.client.plan(plan))
            self.control.show(reply) { json, _ in ["Planned: \(json["plan"]?["id"]?.text ?? "")"] }
        } else {
            var question = IncidentQuestion()
            let now = SystemClock().wall()
            // Plans are wanted of any time, and incidents of none.
            question.since = now - .seconds(60)
            let plans = try await self.control.connecting(try await self.control.client.incidents(question, at: now))
                .plans
            self.control.print(["schema": 1, "plans": .array(plans.map(\.json))]) { IncidentText.plans(plans, $0) }
        }
    }

    static func time(_ text: String, option: String) throws -> WallTime {
        try OptionParsing.naming(option, try IncidentOptions.time(text, before: SystemClock().wall()))
    }
}

extension ControlOptions {
    /// Prints JSON, or lines of text; nothing with `-q`.
    func print(_ json: @autoclosure () -> JSONValue, _ lines: (TextStyle) -> [String]) {
        let terminal = Terminal()
        if self.output.json { return terminal.print(json().description) }
        guard !self.output.quiet else { return }
        for line in lines(terminal.outputStyle) { terminal.print(line) }
    }
}
