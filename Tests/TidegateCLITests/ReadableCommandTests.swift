import Foundation
import Testing
import Tidegate
@testable import TidegateCore
import TidegateTestKit

@testable import TidegateCLI

/// What `fetch`, `wait`, `run` and `tasks` print has words, and never the name of an enum's case.
@Suite struct ReadableCommandTests {
    private let style = TextStyle(isColored: false, width: 200)
    private let now = WallTime(microseconds: 1_700_000_000_000_000)

    private func expectPlain(_ text: String, _ location: SourceLocation = #_sourceLocation) {
        #expect(ReadableText.names(in: text) == [], "\(text)", sourceLocation: location)
        // The party is "not known", and so is everything else that is not.
        #expect(!text.split { !$0.isLetter }.contains("unknown"), "\(text)", sourceLocation: location)
    }

    @Test("Each party has one name")
    func parties() {
        let names: [FaultParty: String] = [
            .mine: "this host", .gateway: "your router", .upstream: "your provider", .resolver: "the resolver",
            .path: "on the way", .theirs: "the server", .unknown: "not known",
        ]
        for party in FaultParty.allCases {
            #expect(party.description == names[party])
            let attribution = Attribution(party: party, rung: .tcp, evidence: ["no answer"])
            let failed = Samples.result(.failure, .connectFailed, party: attribution)
            let name = "(\(names[party] ?? ""))"
            #expect(FetchText.summary(failed, label: "x").contains(name))
        }
    }

    @Test("fetch: every failure and every event of a transfer")
    func fetch() {
        let attributions = [nil] + FaultParty.allCases.map { Attribution(party: $0) }
        for failure in TaskFailure.allCases {
            for attribution in attributions {
                for outcome in TaskOutcome.allCases {
                    let result = Samples.result(outcome, failure, attempts: 2, party: attribution)
                    self.expectPlain(FetchText.summary(result, label: "big.iso", kept: 5))
                }
                var tally = FetchTally()
                tally.add(Samples.result(.failure, failure, party: attribution))
                tally.addRefused()
                self.expectPlain(tally.error?.message ?? "")
            }
        }
        for requirement in ["routed", "online", "unmetered", "interface:eth0"].compactMap({ Requirement($0) }) {
            let result = Samples.result(.failure, .gateTimeout, requireUnmet: requirement)
            self.expectPlain(FetchText.summary(result, label: "big.iso"))
        }
        var display = TransferDisplay(label: "big.iso")
        for kind in self.kinds {
            self.expectPlain(FetchText.clause(kind, waited: .seconds(3)) ?? "")
            self.expectPlain(display.line(for: kind, at: MonotonicTime(nanoseconds: 0)) ?? "")
        }
    }

    @Test("tasks: list, show, wait and watch, for every state, reason and party")
    func tasks() throws {
        for task in self.documents {
            for line in TaskText.list([task], self.style, at: self.now)
                + TaskText.details(task, self.style, at: self.now)
            {
                self.expectPlain(line)
            }
            self.expectPlain(TaskText.summary(task, at: self.now))
            self.expectPlain(TaskText.nothingSubmitted(task, key: "order-7", at: self.now))
        }
        var text = WatchText()
        var lines: [String] = []
        for payload in EveryEvent.payloads {
            guard case .task(let task) = payload else { continue }
            let event = Event(sequence: 1, time: self.now, moment: MonotonicTime(nanoseconds: 0), payload: .task(task))
            lines += text.lines(event.json().description, self.style)
        }
        #expect(lines.count > 20)
        for line in lines { self.expectPlain(line) }
    }

    @Test("wait and run: every reason why a condition does not hold")
    func conditions() throws {
        let texts = [
            "carrier", "carrier:eth0", "address", "address:eth0:v6", "route", "route:v4", "gateway", "dns",
            "dns:a.example",
            "internet", "host:a.example", "host:a.example:443/tls", "https://a.example/x",
        ]
        let wait = WaitConfiguration(try texts.map { try WaitCondition($0) }, stable: .seconds(5))
        self.expectPlain(WaitText.start(wait))
        for reason in UnreachableReason.allCases {
            let lost = Verdict(level: .none, reason: reason)
            let targets = wait.targets.map { TargetVerdict(target: $0, verdict: lost) }
            let status = Samples.status(lost, ipv4: lost, ipv6: lost, links: [Samples.carrierless], targets: targets)
            let report = RungReport(rung: reason.rung, status: .bad, reason: reason)
            for condition in wait.conditions {
                for evidence in [.pending, .failed(reason), .rungs([report])] as [ConditionEvidence] {
                    for status in [status, self.routed(wait.targets)] {
                        guard
                            case .unsatisfied(let rung, _, let sentence) = condition.evaluate(
                                status, evidence: evidence)
                        else { continue }
                        self.expectPlain("waiting for \(condition): \(rung.rawValue): \(sentence)")
                    }
                }
            }
            let change = PathEvent(scope: .global, from: Samples.routed, to: lost)
            let event = Event(
                sequence: 1, time: self.now, moment: MonotonicTime(nanoseconds: 0), payload: .path(change))
            let loss = PathLoss(family: nil, targets: []).description(of: event, among: [Samples.carrierless])
            var machine = RunMachine(retryLimit: 1)
            let inputs: [RunMachine.Input] = [
                .opened, .lost(try #require(loss)), .exited(1), .opened, .lost(try #require(loss)), .exited(1),
            ]
            var count = 0
            for effect in inputs.flatMap({ machine.handle($0) }) {
                guard case .print(let line) = effect else { continue }
                self.expectPlain(line)
                count += 1
            }
            #expect(count == 1)
        }
    }

    @Test("Alerts: summaries and descriptions, with no label filled in whose values are not names")
    func alerts() throws {
        let file = Dashboard.folder.appendingPathComponent("alerts.yml")
        let lines = try String(contentsOf: file, encoding: .utf8).split(separator: "\n")
            .map { $0.trimmingCharacters(in: .whitespaces) }
        let texts = lines.filter { $0.hasPrefix("summary: ") || $0.hasPrefix("description: ") }
        #expect(texts.count == 2 * lines.count { $0.hasPrefix("- alert: ") })
        let names = ["instance", "job", "target", "host", "subscriber", "label", "metric", "thread", "probe", "device"]
        for text in texts {
            for match in text.matches(of: /\$labels\.(\w+)/) { #expect(names.contains(String(match.1)), "\(text)") }
            self.expectPlain(text.replacing(/{{[^}]*}}/, with: "x").replacing("_other", with: "x"))
        }
    }

    @Test("Dashboards: titles, descriptions, legends and the texts of values", arguments: Dashboard.names)
    func dashboards(_ name: String) throws {
        let data = try Data(contentsOf: Dashboard.folder.appendingPathComponent("\(name).json"))
        let texts = self.texts(in: try JSONSerialization.jsonObject(with: data))
        #expect(texts.count > 40)
        for text in texts {
            // The question on the tin.
            self.expectPlain(text.replacing("Was it my network, or theirs?", with: ""))
        }
    }

    @Test("A legend that names parties or levels by their labels renames each of them", arguments: Dashboard.names)
    func legends(_ name: String) throws {
        let data = try Data(contentsOf: Dashboard.folder.appendingPathComponent("\(name).json"))
        let object = try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
        for panel in try #require(object["panels"] as? [[String: Any]]) {
            let legends = (panel["targets"] as? [[String: Any]] ?? []).compactMap { $0["legendFormat"] as? String }
            let fields = try JSONSerialization.data(
                withJSONObject: [panel["fieldConfig"] ?? [:], panel["transformations"] ?? []])
            let shown = String(decoding: fields, as: UTF8.self)
            for legend in legends {
                if legend.contains("{{party}}") {
                    for party in FaultParty.allCases { #expect(shown.contains(party.description), "\(legend)") }
                }
                if legend.contains("{{level}}") || legend.contains("{{from}}") {
                    for word in ["not known", "no path", "local only", "behind a portal"] {
                        #expect(shown.contains(word), "\(legend)")
                    }
                }
                if legend.contains("{{reason}}") || legend.contains("{{error_type}}") {
                    #expect(shown.contains("renameByRegex"), "\(legend) shows labels in snake case")
                }
            }
        }
    }

    // MARK: What there is

    private var kinds: [TaskEvent.Kind] {
        EveryEvent.payloads.compactMap { payload in if case .task(let task) = payload { task.kind } else { nil } }
    }

    private var documents: [TaskDocument] {
        var documents: [TaskDocument] = []
        func add(_ state: TaskState, _ change: (inout TaskDocument) -> Void) {
            var document = TaskDocument(Samples.info(state, TransferProgress(attempt: 2)))
            document.durable = true
            change(&document)
            documents.append(document)
        }
        for failure in TaskFailure.allCases {
            for party in FaultParty.allCases {
                add(.completed(.failure)) { ($0.reason, $0.party) = (failure.rawValue, party.rawValue) }
            }
        }
        for reason in HoldReason.allCases { add(.waiting(reason, detail: nil)) { $0.party = "mine" } }
        for state in [.suspended, .running(attempt: 2), .completed(.success), .completed(.cancelled)] as [TaskState] {
            add(state) { _ in }
        }
        return documents
    }

    private func routed(_ targets: [Target]) -> ReachabilityStatus {
        Samples.status(
            Samples.routed, ipv4: Samples.routed, ipv6: Verdict(level: .none, reason: .noAddress), links: [Samples.up],
            targets: targets.map { TargetVerdict(target: $0, verdict: Samples.routed) })
    }

    /// The texts that Grafana shows as they are.
    private func texts(in value: Any) -> [String] {
        if let list = value as? [Any] { return list.flatMap { self.texts(in: $0) } }
        guard let object = value as? [String: Any] else { return [] }
        return object.flatMap { name, value -> [String] in
            let isShown = ["title", "description", "text", "label", "renamePattern", "legendFormat", "name"].contains(
                name)
            if isShown, let text = value as? String { return [text] }
            // `{"id": "displayName", "value": …}`.
            if name == "value", object["id"] as? String == "displayName", let text = value as? String { return [text] }
            return self.texts(in: value)
        }
    }
}
