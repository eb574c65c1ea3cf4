internal import ArgumentParser
internal import Tidegate
internal import TidegateServer

/// `tidegate guard`: whether a failure may be this host's own.
struct GuardCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "guard", abstract: "Say whether a failure may be this host's own, for other monitors.",
        discussion: """
            Asks the daemon, which asks nothing on the wire. Without one, this host is diagnosed, which takes up to four \
            seconds. Mute an alarm on 1 only: a sidecar that is gone must not mute it.

            Example: check-site || { tidegate guard -q; [ $? = 1 ] || raise-alarm; }

            Exit status: 0 if this host's side works, 1 if it is decided that it does not, 3 if that is not known, \
            2 for usage errors.
            """)

    @Argument(help: .value("target", "A host with an optional port, a URL or a configured target."))
    var target: String?

    @OptionGroup var control: ControlOptions

    func run() async throws {
        let answer: JSONValue
        do throws(ControlClientError) {
            answer = try await self.control.client.guardAnswer(self.target).value
        } catch {
            guard error.reason == .noDaemon else { throw CommandError(error) }
            answer = try await self.measured().json
        }
        let isClear = answer["clear"]
        if self.control.output.json {
            Terminal().print(answer.description)
        } else if !self.control.output.quiet {
            Terminal().print(Self.sentence(answer))
        }
        if isClear == .bool(false) { throw CommandError(.no) }
        if isClear != .bool(true) { throw CommandError(.unknown) }
    }

    private func measured() async throws -> GuardAnswer {
        let target = try self.target.map { text in
            try OptionParsing.naming("target", (try? HTTPURL(text))?.target ?? Target(text))
        }
        let monitor = OneShotMonitor(targets: target.map { [$0] } ?? [])
        let (status, _) = await monitor.firstStatus()
        let explanation = await monitor.diagnostics().diagnose(.internet, within: .seconds(4))
        return GuardAnswer(
            for: target, status: status,
            diagnosis: HostDiagnosis(explanation: explanation, time: monitor.time.wall()))
    }

    private static func sentence(_ answer: JSONValue) -> String {
        switch answer["clear"] {
        case .bool(true)?: return "This host's side works."
        case .bool(false)?:
            let party = answer["party"]?.text.flatMap(FaultParty.init(rawValue:)).map { " (\($0))" } ?? ""
            return "Not clear: \(TextStyle.escapingControls(answer["cause"]?.text ?? ""))\(party)."
        default: return "It is not known whether this host's side works."
        }
    }
}
