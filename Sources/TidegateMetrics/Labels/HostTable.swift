internal import Synchronization
internal import TidegateCore

/// Gives hosts their label values: a host that gets one keeps it, and their number is bounded.
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
