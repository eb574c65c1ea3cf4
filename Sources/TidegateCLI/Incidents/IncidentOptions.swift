internal import ArgumentParser
internal import Tidegate
internal import TidegateDaemon
internal import TidegateIncidents
internal import TidegateServer
internal import TidegateStore

/// Which incidents, and where they are read from.
struct IncidentOptions: ParsableArguments {
    @Option(help: .value("time", "From when on: 30d, 12h, 2026-10-01 or 2026-10-01T08:00:00Z (default: 90d)."))
    var since: String?

    @Option(help: .value("time", "Until when (default: now)."))
    var until: String?

    @Option(help: .value("party", "Only this party: mine, gateway, upstream, resolver, path, theirs or unknown."))
    var party: String?

    @Option(help: .value("name", "Only this target or probe, and the outages that it was affected by."))
    var target: String?

    @Flag(help: "Let availability count maintenance as any other outage.")
    var countMaintenance = false

    @OptionGroup var source: IncidentSource

    func validate() throws { _ = try self.question(at: SystemClock().wall()) }

    /// The question of the options; durations count back from `now`.
    func question(scope: String? = nil, at now: WallTime) throws(ValidationError) -> IncidentQuestion {
        let values = [
            "since": self.since, "until": self.until, "party": self.party, "target": self.target, "scope": scope,
        ]
        do {
            var question = try IncidentQuestion({ values[$0] ?? nil }, prefix: "--") { text throws(TextError) in
                try Self.time(text, before: now)
            }
            (question.limit, question.countsPlanned) = (.max, self.countMaintenance)
            return question
        } catch {
            throw ValidationError(error.description)
        }
    }

    /// Parses a duration before `now`, a day in UTC, or a time of RFC 3339.
    static func time(_ text: String, before now: WallTime) throws(TextError) -> WallTime {
        if let time = WallTime(text) { return time }
        if let duration = try? DurationText(parsing: text).duration { return now - duration }
        throw TextError("\"\(text)\" is not a time: 30d, 12h, 2026-10-01 or 2026-10-01T08:00:00Z")
    }
}

/// Where incidents are read from, and how much of them is shown.
struct IncidentSource: ParsableArguments {
    @Flag(help: "Include the addresses of this host's network.")
    var withIdentifiers = false

    @Option(
        name: .customLong("state.dir"),
        help: .value("directory", "The journal's directory without a daemon (default: \(Terminal.defaultPaths.state)).")
    )
    var stateDirectory: String?

    /// Asks the daemon, or reads its journal without one.
    func answer(
        _ question: IncidentQuestion, at now: WallTime, from control: ControlOptions
    ) async throws(CommandError) -> IncidentRead {
        var question = question
        do throws(TextError) {
            let (from, to) = try question.bound(at: now)
            let answer = try await self.read(question, at: now, control)
            return IncidentRead(
                answer: self.withIdentifiers ? answer : answer.withoutIdentifiers, from: from, to: to)
        } catch {
            throw CommandError(.no, error.description)
        }
    }

    private func read(
        _ question: IncidentQuestion, at now: WallTime, _ control: ControlOptions
    ) async throws(TextError) -> IncidentAnswer {
        do throws(ControlClientError) {
            return try await control.client.incidents(question, at: now)
        } catch {
            guard error.reason == .noDaemon else { throw TextError(error.description) }
        }
        let directory = self.stateDirectory ?? Terminal.defaultPaths.state
        do throws(TextError) {
            return try await IncidentFile.answer(question, at: now, inStateDirectory: directory)
        } catch {
            throw TextError("no daemon listens on \(control.client.socket), and \(error)")
        }
    }
}

/// The incidents of a period.
struct IncidentRead {
    let answer: IncidentAnswer
    let from: WallTime
    let to: WallTime
}
