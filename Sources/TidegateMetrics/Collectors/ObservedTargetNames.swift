internal import Synchronization
internal import TidegateCore

/// Gives configured targets their label values in the metrics of observed connections: one that gets its own keeps it,
/// and their number is bounded.
final class ObservedTargetNames: Sendable {
    /// How many targets have series of their own.
    static let limit = 50

    private let overflows: TableFamily<TextLabels, Counter>
    private let names = HostTable(.top(limit: limit))
    private let counted = Mutex<[String: Set<String>]>([:])

    /// Targets beyond the bound are counted in `overflows`, once for each metric.
    init(overflows: TableFamily<TextLabels, Counter>) { self.overflows = overflows }

    /// The targets under their label values, in the order of the values; those beyond the bound are one.
    func labelled(
        _ statistics: ConnectionStatistics?, in definition: MetricDefinition
    ) -> [(name: String, target: ConnectionStatistics.OfTarget)] {
        guard let targets = statistics?.targets, !targets.isEmpty else { return [] }
        let sorted = targets.sorted { $0.key < $1.key }
        return self.counted.withLock { counted in
            var rows: [(name: String, target: ConnectionStatistics.OfTarget)] = []
            var others: ConnectionStatistics.OfTarget?
            for (name, target) in sorted {
                guard self.names.value(of: name)?.isOverflow ?? false else {
                    rows.append((name, target))
                    continue
                }
                others = others.map { $0 + target } ?? target
                if counted[definition.name, default: []].insert(name).inserted {
                    self.overflows[TextLabels(definition.name, "target")].add()
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

/// Gives hosts, or targets, their label values: one that gets a value keeps it, and their number is bounded.
final class HostTable: Sendable {
    /// Stands for every host without a value of its own.
    static let other = "_other"

    private let mode: HostLabel
    private let known: Mutex<Set<String>>

    init(_ mode: HostLabel) {
        self.mode = mode
        if case .allowlist(let hosts) = mode { self.known = Mutex(hosts) } else { self.known = Mutex([]) }
    }

    var isOn: Bool { self.mode != .off }

    /// The labels of a metric with the host's behind them, if hosts are labelled.
    func labelled(_ definition: MetricDefinition) -> MetricDefinition {
        self.isOn ? definition.labelled(by: definition.labels + ["host"]) : definition
    }

    /// The value of an attempt's host; nil if hosts are not labelled, and then nothing is looked up.
    func value(of host: String?) -> (text: String, isOverflow: Bool)? {
        switch self.mode {
        case .off: return nil
        case .allowlist: return (self.known(host ?? "none"), false)
        case .top(let limit): return self.admitted(host ?? "none", atMost: limit)
        }
    }

    /// The value of a host, which gets none by being looked at.
    func known(_ host: String) -> String { self.known.withLock { $0.contains(host) } ? host : HostTable.other }

    private func admitted(_ host: String, atMost limit: Int) -> (text: String, isOverflow: Bool) {
        self.known.withLock { known in
            if known.contains(host) { return (host, false) }
            guard known.count < limit else { return (HostTable.other, true) }
            known.insert(host)
            return (host, false)
        }
    }
}
