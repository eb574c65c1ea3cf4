internal import Tidegate
internal import TidegateServer

/// What a running daemon adds to an explanation: the configured targets, and since when something fails.
struct DaemonKnowledge: Sendable {
    /// The daemon's report; nil if there is none.
    var report: DaemonReport?
    /// Why there is none; empty if there is one.
    var missing = ""
    let now: WallTime

    /// How long a daemon may take: it only says what it knows already.
    static let limit = Duration.milliseconds(500)

    /// Asks a daemon; that there is none, or that this user may not ask it, is no failure.
    static func ask(_ client: ControlClient, time: any TimeSource) async -> DaemonKnowledge {
        let late = DaemonKnowledge(report: nil, missing: "no answer on \(client.socket)", now: time.wall())
        return await value(within: self.limit, orElse: late) {
            do throws(ControlClientError) {
                let report = try await client.report()
                return DaemonKnowledge(report: report, now: time.wall())
            } catch {
                return DaemonKnowledge(report: nil, missing: error.description, now: time.wall())
            }
        }
    }

    /// Since when the daemon has seen what an explanation says; nil if it sees something else.
    func since(_ explanation: Explanation) -> WallTime? {
        guard let rung = explanation.firstFailure?.rung.rawValue, let diagnosis = self.report?.diagnosis,
            diagnosis.firstFailure == rung, diagnosis.cause == explanation.cause?.code
        else { return nil }
        return diagnosis.since.flatMap(TaskText.moment)
    }

    /// The same without the configured targets.
    var withoutTargets: DaemonKnowledge {
        var knowledge = self
        knowledge.report?.targets = []
        return knowledge
    }

    /// One clause for each configured target: its name, its level, and what its last check found.
    var targets: [String] {
        (self.report?.targets ?? []).map { target in
            let place = target.name == target.target ? "" : " (\(target.target))"
            guard target.reached == false, let failure = target.lastFailure else {
                let level = ReachabilityLevel(rawValue: target.level)?.word ?? target.level
                return "\(target.name)\(place): \(level)" + (target.reached == nil ? ", not checked" : "")
            }
            let party = FaultParty(rawValue: failure.party)?.description ?? failure.party
            return "\(target.name)\(place): not reached: \(failure.text) (\(party))"
        }
    }

    /// The configured targets for programs; null without a daemon.
    var json: JSONValue {
        guard let report = self.report else { return .null }
        return .array(
            report.targets.map { target in
                [
                    "name": .string(target.name), "target": .string(target.target), "level": .string(target.level),
                    "reason": .optional(target.reason), "reached": target.reached.map { .bool($0) } ?? .null,
                    "party": .optional(target.reached == false ? target.lastFailure?.party : nil),
                ]
            })
    }
}
