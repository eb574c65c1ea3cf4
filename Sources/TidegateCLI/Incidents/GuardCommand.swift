internal import ArgumentParser
internal import Tidegate
internal import TidegateIncidents
internal import TidegateServer

/// `tidegate guard`: whether a failure may be this host's own.
struct GuardCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "guard", abstract: "Say whether a failure may be this host's own, for other monitors.",
        discussion: """
            Asks the daemon, which asks nothing on the wire, and takes two seconds at most. Mute an alarm on 1 only: a \
            sidecar that is gone, hangs or cannot be asked must not mute it.

            Example: check-site || { tidegate guard -q; [ $? = 1 ] || raise-alarm; }

            Exit status: 0 if this host's side works, 1 if it is decided that it does not, 3 if that is not known or the \
            daemon cannot be asked, 2 for usage errors.
            """)

    @Argument(help: .value("target", "A host with an optional port, a URL or a configured target."))
    var target: String?

    @OptionGroup var control: ControlOptions

    // Leaves half a second to start and to end.
    private static let limit = Duration.milliseconds(1500)

    func run() async throws {
        let answer: JSONValue
        do throws(ControlClientError) {
            answer = try await self.answer()
        } catch {
            var failure = self.control.error(error)
            if error.reason != .refused(status: 400) {
                failure.status = .unknown
                let answer = GuardAnswer(unknown: failure.message ?? error.description)
                if self.control.output.json { Terminal().print(answer.json.description) }
            }
            throw failure
        }
        self.control.print(answer) { _ in [Self.sentence(answer)] }
        if answer["clear"] != .bool(true) { throw CommandError(answer["clear"] == .bool(false) ? .no : .unknown) }
    }

    private func answer() async throws(ControlClientError) -> JSONValue {
        let client = self.control.socket.client(timeout: Self.limit)
        let late = ControlClientError(
            .exchangeFailed,
            "the daemon on the control socket \(client.socket) did not answer within \(Self.limit.shortText)")
        let reply = await value(within: Self.limit, orElse: .failure(late)) { [target] in
            do throws(ControlClientError) {
                return Result<_, ControlClientError>.success(try await client.guardAnswer(target).value)
            } catch {
                return .failure(error)
            }
        }
        let answer = try reply.get()
        guard [.null, .bool(true), .bool(false)].contains(answer["clear"]) else {
            throw ControlClientError(.exchangeFailed, "the daemon's answer is no guard's; it may be another version")
        }
        return answer
    }

    private static func sentence(_ answer: JSONValue) -> String {
        let cause = answer["cause"]?.text.map { ": \(TextStyle.escapingControls($0))" } ?? ""
        switch answer["clear"] {
        case .bool(true)?: return "This host's side works."
        case .bool(false)?:
            let party = answer["party"]?.text.flatMap(FaultParty.init(rawValue:)).map { " (\($0))" } ?? ""
            return "Not clear\(cause)\(party)."
        default: return "It is not known whether this host's side works\(cause)."
        }
    }
}
