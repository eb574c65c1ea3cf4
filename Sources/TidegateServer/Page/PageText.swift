internal import TidegateCore

extension ReachabilityLevel {
    var headline: String {
        switch self {
        case .unknown: "Unknown"
        case .none: "No network"
        case .local: "Local network only"
        case .routed: "There is a way out"
        case .limited: "Limited"
        case .portal: "Behind a portal"
        case .online: "Online"
        }
    }

    var meaning: String {
        switch self {
        case .unknown: "The kernel's tables cannot be read; requests are not held."
        case .none: "This host has no usable link or address."
        case .local: "There are usable addresses, but no route to the internet."
        case .routed: "The kernel would send a packet to the internet now."
        case .limited: "There is a route, but internet checks fail."
        case .portal: "There is a route, but a captive portal intercepts requests."
        case .online: "Internet checks succeed."
        }
    }
}

extension ReachabilityLevel {
    var tone: EventDescriptions.Tone {
        switch self {
        case .none, .local: .bad
        case .limited, .portal: .wait
        case .routed, .online: .good
        case .unknown: .plain
        }
    }
}

extension RawRepresentable where RawValue == String {
    // The parts of a camelCase name: noDefaultRoute becomes "no default route".
    fileprivate var spacedName: String {
        self.rawValue.reduce(into: "") { text, character in
            if character.isUppercase { text += " " }
            text += character.lowercased()
        }
    }
}

extension UnreachableReason {
    var pageText: String { self.spacedName }
}

extension TaskFailure {
    var pageText: String { self.spacedName }
}

extension RemoteWriteLoss {
    var pageText: String { self.spacedName }
}

extension FaultParty {
    var pageText: String {
        switch self {
        case .mine: "this host"
        case .gateway: "the gateway"
        case .upstream: "behind the gateway"
        case .resolver: "the resolvers"
        case .path: "on the way"
        case .theirs: "the other side"
        case .unknown: "unclear"
        }
    }
}

extension ReachabilityStatus.Mode {
    var pageText: String {
        switch self {
        case .once: "one query"
        case .event: "kernel events"
        case .storm: "a timer, because of a storm of route changes"
        case .poll: "a timer, because the kernel sends no events"
        }
    }
}

extension NetworkPath {
    var pageText: String {
        let gateway = self.gateway.map { " through \($0)" } ?? ""
        let source = self.source.map { " from \($0)" } ?? ""
        return self.interface + gateway + source
    }
}

extension TransferProgress {
    var pageText: String {
        let received = Self.size(self.offset + self.receivedWire)
        return self.expected.map { "\(received) of \(Self.size($0))" } ?? received
    }

    static func size(_ bytes: Int64) -> String {
        let units = ["B", "KiB", "MiB", "GiB", "TiB"]
        var (value, unit) = (Double(bytes), 0)
        while value >= 1024, unit < units.count - 1 {
            value /= 1024
            unit += 1
        }
        return unit == 0 ? "\(bytes) B" : "\((value * 10).rounded() / 10) \(units[unit])"
    }
}
