internal import TidegateCore

/// The label values of one child, in the order of its family's label names.
protocol LabelKey: Hashable, Sendable {
    var values: [String] { get }
}

/// One label out of a closed set is a key by itself.
extension MetricLabel {
    var values: [String] { [self.label] }
}

extension Event.Topic: LabelKey {}
extension GateWaitResult: LabelKey {}
extension HoldReason: LabelKey {}
extension JournalIssue: LabelKey {}
extension NetlinkEvent.MessageType: LabelKey {}
extension NetlinkEvent.ResyncReason: LabelKey {}
extension PhaseDurations.Phase: LabelKey {}
extension RemoteWriteLoss: LabelKey {}
extension TaskEvent.ExhaustionReason: LabelKey {}
extension TaskEvent.GateResult: LabelKey {}
extension TaskEvent.SuspendReason: LabelKey {}
extension TaskFailure: LabelKey {}
extension TaskKind: LabelKey {}

/// Two labels out of closed sets.
struct Label2<First: MetricLabel, Second: MetricLabel>: LabelKey, CaseIterable {
    let first: First
    let second: Second

    init(_ first: First, _ second: Second) {
        self.first = first
        self.second = second
    }

    static var allCases: [Self] { First.allCases.flatMap { first in Second.allCases.map { Self(first, $0) } } }

    var values: [String] { [self.first.label, self.second.label] }
}

/// Labels whose number of values other types bound.
struct TextLabels: LabelKey {
    let values: [String]

    init(_ values: String...) { self.values = values }
}
