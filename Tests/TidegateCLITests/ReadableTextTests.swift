import Testing
import Tidegate
@testable import TidegateCore
import TidegateTestKit

@testable import TidegateCLI
@testable import TidegateDaemon
@testable import TidegateServer

/// Looks for names that are no words.
enum ReadableText {
    // Names of cases in one lower-case word that would be read as something else.
    private static let parties: Set<String> = ["mine", "theirs", "upstream"]

    /// The names in a text that only a program should see.
    static func names(in text: String) -> [String] {
        // A name in camel case is a case's, or JSON's; units and versions begin with a capital letter.
        let camel = text.matches(of: /\b[a-z]+[A-Z][A-Za-z]*\b/).map { String($0.output) }
        let parts = Set(text.split { !$0.isLetter }.map(String.init))
        return camel + parts.intersection(self.parties).sorted()
    }
}

/// What people read has words, and never the name of an enum's case.
@Suite struct ReadableTextTests {
    private func names(in text: String) -> [String] { ReadableText.names(in: text) }

    private func event(_ payload: Event.Payload) -> Event {
        Event(sequence: 1, time: WallTime(microseconds: 0), moment: MonotonicTime(nanoseconds: 0), payload: payload)
    }

    @Test("The sentences of all events")
    func sentences() {
        for payload in EveryEvent.payloads {
            let sentence = self.event(payload).sentence
            #expect(self.names(in: sentence) == [], "\(sentence)")
        }
    }

    @Test("The lines of the page")
    func page() {
        for payload in EveryEvent.payloads {
            let line = EventLine(self.event(payload))
            for text in [line.text, line.effect] { #expect(self.names(in: text) == [], "\(text)") }
        }
    }

    @Test("The lines of the log in logfmt; JSON has the names")
    func log() throws {
        var codes: Set<String> = []
        for payload in EveryEvent.payloads {
            guard let record = EventRecord(self.event(payload)) else { continue }
            let fields = record.fields.sorted { $0.key < $1.key }.map { (name: $0.key, value: LogValue($0.value)) }
            let handler = LineLogHandler(logLevel: record.level, format: .logfmt, time: SystemClock()) { _ in }
            let line = handler.line(record.level, record.message, fields)
            for (name, value) in fields where ["reason", "party", "from", "to"].contains(name) {
                #expect(self.names(in: value.description) == [], "\(line)")
                if case .string(let code) = value.json, code != value.description { codes.insert(code) }
            }
        }
        #expect(codes.isSuperset(of: ["noCarrier", "theirs"]), "events with reasons and parties were among them")
    }

    @Test("Reasons, holds, failures, parties and warnings")
    func tables() {
        let texts =
            UnreachableReason.allCases.map(\.description) + HoldReason.allCases.map(\.description)
            + TaskFailure.allCases.map(\.description) + FaultParty.allCases.map(\.description)
            + ReachabilityLevel.allCases.map(\.headline)
        for text in texts { #expect(self.names(in: text) == [], "\(text)") }
    }

    @Test("The status of every reason")
    func status() {
        for reason in UnreachableReason.allCases {
            let verdict = Verdict(level: .none, reason: reason)
            let status = ReachabilityStatus(
                global: verdict, mode: .event, families: [.init(family: .ipv4, verdict: verdict)], links: [],
                targets: [], health: .init())
            for line in StatusText().lines(status, TextStyle(isColored: false, width: 100)) {
                #expect(self.names(in: line) == [], "\(line)")
            }
        }
    }

    @Test("Explanations")
    func explanations() {
        let samples = [
            ExplanationSamples.reached, ExplanationSamples.reachedBut, ExplanationSamples.cableOut,
            ExplanationSamples.expired, ExplanationSamples.noSuchName,
        ]
        for line in samples.flatMap({
            ExplanationText.lines($0, TextStyle(isColored: false, width: 100), isVerbose: true)
        }) {
            #expect(self.names(in: line) == [], "\(line)")
        }
    }
}
