internal import Synchronization

/// A family known by its name alone.
protocol OpenFamilyKind: Family {}

/// A metric of the embedding program: its series may differ in their labels.
final class OpenFamily<Child: MetricChild>: OpenFamilyKind {
    let definition: MetricDefinition
    private let state = Mutex(State())

    private struct State {
        var byLabels: [[AdaptedName.Label]: Child] = [:]
        var inOrder: [Child] = []
    }

    init(_ definition: MetricDefinition) {
        self.definition = definition
    }

    /// The series with `labels`; beyond `limit` series the one whose values are all `_other`.
    func child(_ labels: [AdaptedName.Label], limit: Int) -> (child: Child, isOverflow: Bool) {
        self.state.withLock { state in
            if let known = state.byLabels[labels] { return (known, false) }
            guard state.inOrder.count >= limit else { return (self.make(labels, &state), false) }
            let others = labels.map { AdaptedName.Label(name: $0.name, value: "_other") }
            return (state.byLabels[others] ?? self.make(others, &state), true)
        }
    }

    private func make(_ labels: [AdaptedName.Label], _ state: inout State) -> Child {
        let child = Child(self.definition.labelled(by: labels.map(\.name)), values: labels.map(\.value))
        state.byLabels[labels] = child
        state.inOrder.append(child)
        return child
    }

    func write(to output: inout ExpositionWriter, from inputs: ScrapeInputs) {
        for child in self.state.withLock({ $0.inOrder }) { child.write(to: &output) }
    }
}
