internal import TidegateCore

/// Label values whose children all exist from the start and stand in an array: finding one costs no hash, and no lock.
protocol FixedLabelKey: LabelKey {
    /// Every key, in the order of the exposition.
    static var allKeys: [Self] { get }
    /// The key's place in ``allKeys``.
    var ordinal: Int { get }
}

/// A label that is a key by itself; its ordinal is its place in `allCases`.
protocol FixedLabel: MetricLabel, FixedLabelKey {}

extension FixedLabel {
    static var allKeys: [Self] { Array(Self.allCases) }

    var values: [String] { [self.label] }
}

extension TaskKind: FixedLabel {
    var ordinal: Int {
        switch self {
        case .data: 0
        case .download: 1
        case .upload: 2
        }
    }
}

extension AdmissionResult: FixedLabel {
    var ordinal: Int {
        switch self {
        case .immediate: 0
        case .delayed: 1
        case .timeout: 2
        }
    }
}

extension PhaseDurations.Phase: FixedLabel {
    var ordinal: Int {
        switch self {
        case .resolve: 0
        case .connect: 1
        case .tls: 2
        case .processing: 3
        case .transfer: 4
        }
    }
}

extension Event.Topic: FixedLabel {
    var ordinal: Int {
        switch self {
        case .path: 0
        case .link: 1
        case .netlink: 2
        case .task: 3
        case .session: 4
        case .probe: 5
        case .connection: 6
        case .daemon: 7
        }
    }
}

extension HoldReason: FixedLabel {
    var ordinal: Int {
        switch self {
        case .path: 0
        case .constraint: 1
        case .schedule: 2
        case .backoff: 3
        case .circuit: 4
        case .budget: 5
        case .concurrency: 6
        case .disk: 7
        case .descriptors: 8
        case .drain: 9
        }
    }
}

extension NetlinkEvent.MessageType: FixedLabel {
    var ordinal: Int {
        switch self {
        case .newlink: 0
        case .dellink: 1
        case .newaddr: 2
        case .deladdr: 3
        case .newroute: 4
        case .delroute: 5
        case .newrule: 6
        case .delrule: 7
        case .newnexthop: 8
        case .delnexthop: 9
        case .newneigh: 10
        case .delneigh: 11
        case .netconf: 12
        case .other: 13
        }
    }
}
