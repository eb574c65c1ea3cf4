internal import Synchronization
internal import TidegateCore

/// Gives configured targets their label values in the metrics of observed connections: one that gets its own keeps it,
/// and their number is bounded.
final class ObservedTargetNames: Sendable {
    /// How many targets have series of their own.
    static let limit = 50

    private let overflows: TableFamily<TextLabels, Counter>
    private let known = Mutex<Known>(Known())

    private struct Known {
        var own: Set<String> = []
        var counted: [String: Set<String>] = [:]
    }

    /// Targets beyond the bound are counted in `overflows`, once for each metric.
    init(overflows: TableFamily<TextLabels, Counter>) { self.overflows = overflows }

    /// The targets under their label values, in the order of the values; those beyond the bound are one.
    func labelled(
        _ statistics: ConnectionStatistics?, in definition: MetricDefinition
    ) -> [(name: String, target: ConnectionStatistics.OfTarget)] {
        guard let targets = statistics?.targets, !targets.isEmpty else { return [] }
        let sorted = targets.sorted { $0.key < $1.key }
        return self.known.withLock { known in
            var rows: [(name: String, target: ConnectionStatistics.OfTarget)] = []
            var others: ConnectionStatistics.OfTarget?
            for (name, target) in sorted {
                if known.own.contains(name) || known.own.count < Self.limit {
                    known.own.insert(name)
                    rows.append((name, target))
                } else {
                    others = others.map { $0 + target } ?? target
                    if known.counted[definition.name, default: []].insert(name).inserted {
                        self.overflows[TextLabels(definition.name, "target")].add()
                    }
                }
            }
            return rows + (others.map { [(HostTable.other, $0)] } ?? [])
        }
    }
}

extension ConnectionStatistics.OfTarget {
    fileprivate static func + (left: Self, right: Self) -> Self {
        var sum = left
        sum.connections.merge(right.connections, uniquingKeysWith: +)
        sum.connects.merge(right.connects, uniquingKeysWith: +)
        sum.ends.merge(right.ends, uniquingKeysWith: +)
        sum.lastAnswer = [left.lastAnswer, right.lastAnswer].compactMap(\.self).max()
        return sum
    }
}
