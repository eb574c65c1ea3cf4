internal import Synchronization
internal import TidegateCore

/// Assigns label values to configured targets in the metrics of observed connections.
///
/// A target keeps its value, and the number of values is limited.
final class ObservedTargetNames: Sendable {
    /// The number of targets with series of their own.
    static let limit = 50

    private let overflows: TableFamily<TextLabels, Counter>
    private let names = HostTable(.top(limit: limit))
    private let counted = Mutex<[String: Set<String>]>([:])

    /// `overflows` counts targets beyond the limit, once for each metric.
    init(overflows: TableFamily<TextLabels, Counter>) { self.overflows = overflows }

    /// The targets by label value, in the order of the values; those beyond the limit are combined.
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

/// Assigns label values to hosts or targets; a value is kept, and the number of values is limited.
final class HostTable: Sendable {
    /// The value for every host without one of its own.
    static let other = "_other"

    private let mode: HostLabel
    private let known: Mutex<Set<String>>

    init(_ mode: HostLabel) {
        self.mode = mode
        if case .allowlist(let hosts) = mode { self.known = Mutex(hosts) } else { self.known = Mutex([]) }
    }

    var isOn: Bool { self.mode != .off }

    /// The metric with the host's label last, if hosts are labelled.
    func labelled(_ definition: MetricDefinition) -> MetricDefinition {
        self.isOn ? definition.labelled(by: definition.labels + ["host"]) : definition
    }

    /// The label value of an attempt's host; nil without any lookup if hosts are not labelled.
    func value(of host: String?) -> (text: String, isOverflow: Bool)? {
        switch self.mode {
        case .off: return nil
        case .allowlist: return (self.known(host ?? "none"), false)
        case .top(let limit): return self.admitted(host ?? "none", atMost: limit)
        }
    }

    /// The label value of a host; a lookup does not assign one.
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
