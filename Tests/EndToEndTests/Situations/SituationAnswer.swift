import Foundation
import Testing
import TidegateTestKit

/// What `tidegate explain` says.
struct SituationAnswer: Decodable, CustomStringConvertible {
    struct Family: Decodable {
        var rungs: [Rung]
    }

    struct Rung: Decodable {
        var rung: String
        var status: String
        var reason: String?
        var evidence: [String]
    }

    private enum CodingKeys: String, CodingKey {
        case firstFailure, party, cause, sentence, advice, findings, families, time
    }

    var firstFailure: String?
    var party: String?
    var cause: String?
    /// The conclusion in one sentence.
    var sentence: String
    var advice: String
    var findings: [String]
    var families: [String: Family]
    /// When a sidecar made it; nil of a command's.
    var time: String?
    /// The exit code.
    var status: Int32 = 0
    var duration = Duration.zero
    /// The JSON as it was printed.
    var text = ""

    var description: String {
        let failing = self.families.sorted { $0.key < $1.key }.flatMap { family, rungs in
            rungs.rungs.filter { $0.status != "ok" && $0.status != "notApplicable" }
                .map { "  \(family) \($0.rung) \($0.status): \($0.evidence.joined(separator: "; "))" }
        }
        return """
            exit \(self.status) after \(self.duration), fails at \(self.firstFailure ?? "-"), party \
            \(self.party ?? "-"), advice: \(self.advice), findings: \(self.findings)
            \(failing.joined(separator: "\n"))
            """
    }

    /// What a reader learns besides rung and party: the failing rung's evidence, the advice, and the findings.
    var said: String {
        let evidence = self.families.values.flatMap(\.rungs).filter { $0.rung == self.firstFailure }.flatMap(\.evidence)
        return (evidence + [self.advice] + self.findings).joined(separator: "; ")
    }

    /// True if the reader learns all of that.
    func says(_ phrases: String...) -> Bool { phrases.allSatisfy { self.said.localizedStandardContains($0) } }

    /// Records an issue unless this is the rung, the party, and these words are said and those are not.
    ///
    /// Without a rung the target has to be reached.
    func expect(
        rung: String?, party: String?, says phrases: [String] = [], not unwanted: [String] = [],
        at location: SourceLocation = #_sourceLocation
    ) {
        #expect(self.firstFailure == rung, "\(self)", sourceLocation: location)
        #expect(self.party == party, "\(self)", sourceLocation: location)
        #expect(self.status == (rung == nil ? 0 : 1), "\(self)", sourceLocation: location)
        for phrase in phrases {
            #expect(self.said.localizedStandardContains(phrase), "“\(phrase)” in: \(self)", sourceLocation: location)
        }
        for phrase in unwanted {
            #expect(
                !self.said.localizedStandardContains(phrase), "no “\(phrase)” in: \(self)", sourceLocation: location)
        }
    }
}

extension SituationLab {
    /// Runs `tidegate explain` on the client, as an unprivileged user that trusts the lab's authority; without a
    /// subject it is about the client itself.
    ///
    /// - Parameter addsAuthority: Whether the authority is trusted because it was added to the client's, and not named.
    func explain(
        _ subject: String?, _ options: String..., timeout: String = "5s", addsAuthority: Bool = false
    ) async throws -> SituationAnswer {
        try await self.explain(subject, options, timeout: timeout, addsAuthority: addsAuthority)
    }

    func explain(
        _ subject: String?, _ options: [String], timeout: String = "5s", addsAuthority: Bool = false
    ) async throws -> SituationAnswer {
        let start = ContinuousClock.now
        let trusted = addsAuthority ? [] : ["--cacert", self.files.authority.certificate]
        let program = try await self.run(
            ["explain"] + [subject].compactMap(\.self) + ["--json", "--timeout", timeout] + trusted + options,
            addsAuthority: addsAuthority)
        let duration = ContinuousClock.now - start
        let line = program.output.split(separator: "\n").last.map(String.init) ?? ""
        do {
            var answer = try JSONDecoder().decode(SituationAnswer.self, from: Data(line.utf8))
            (answer.status, answer.duration, answer.text) = (program.status, duration, line)
            return answer
        } catch {
            throw SituationError(description: "explain \(subject ?? ""): \(program.output)\(program.errors)")
        }
    }

    /// Runs `tidegate` on the client, as an unprivileged user.
    func run(_ arguments: [String], addsAuthority: Bool = false) async throws -> Program.Output {
        try await Program.run(
            self.files.onClient(
                self.namespace(.client), [BuiltProduct.path(of: "tidegate")] + arguments, addsAuthority: addsAuthority))
    }
}
