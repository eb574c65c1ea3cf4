internal import Synchronization
internal import TidegateCore

/// What a diagnosis has found so far, filled in by its parts as they end.
final class DiagnosisProgress: Sendable {
    private let state: Mutex<LadderFindings>
    private let changed: (@Sendable (Explanation) -> Void)?

    init(_ findings: LadderFindings, changed: (@Sendable (Explanation) -> Void)?) {
        self.state = Mutex(findings)
        self.changed = changed
    }

    var findings: LadderFindings { self.state.withLock { $0 } }

    /// Records more.
    func update(_ body: (inout LadderFindings) -> Void) {
        let findings = self.state.withLock { findings in
            body(&findings)
            return findings
        }
        self.changed?(ExplanationComposer.compose(findings))
    }
}
