package import TidegateCore

/// Evaluates the rules for a packet of this host as the kernel does, to find the deciding one.
package struct RuleEvaluation: Sendable {
    /// The properties that rules match.
    package struct Packet: Sendable, Hashable {
        package var destination: IPAddress
        package var source: IPAddress?
        package var mark: UInt32 = 0
        package var uid: UInt32 = 0
        package var ipProtocol: UInt8?
        package var port: UInt16?
        /// The link that the socket is bound to.
        package var outputName: String?
        /// The table of the VRF that the socket is bound to.
        package var l3Table: UInt32?
        /// The link that this host's own packets arrive on.
        package var loopbackName = "lo"
    }

    private let packet: Packet
    /// The rules that match the packet, in order; the rules after one that refuses are not evaluated.
    package let matching: [KernelRule]

    /// Evaluates rules in the kernel's order.
    package init(of packet: Packet, through rules: [KernelRule]) {
        self.packet = packet
        var matching: [KernelRule] = []
        var position = 0
        while position < rules.count {
            let rule = rules[position]
            position += 1
            guard rule.selects(packet) != rule.isInverted else { continue }
            switch rule.action {
            case .goTo(let priority):
                // The kernel only lets rules jump forward; a jump to a rule that does not exist is skipped.
                position = rules[position...].firstIndex { $0.priority == priority } ?? position
            case .other: continue
            case .lookup: matching.append(rule)
            case .unreachable, .prohibit, .blackhole:
                matching.append(rule)
                position = rules.count
            }
        }
        self.matching = matching
    }

    /// The rule that led to a route of `table` with this many network bits; nil if none can have.
    package func rule(to table: UInt32, prefixLength: UInt8) -> KernelRule? {
        self.matching.first { rule in
            let isSuppressed = rule.suppressPrefixLength.map { UInt32(prefixLength) <= $0 } ?? false
            return self.table(of: rule) == table && !isSuppressed
        }
    }

    /// The table that a matching rule selects for this packet.
    package func table(of rule: KernelRule) -> UInt32? { rule.isL3Master ? self.packet.l3Table : rule.table }

    /// The rule that refused the packet with an error number, and the refusing route if a route did; both nil if no
    /// further rule matched.
    ///
    /// `refusing` are the routes of types that refuse.
    package func refusal(errno code: Int32, among refusing: [DefaultRoute]) -> (
        rule: KernelRule?, route: DefaultRoute?
    ) {
        for rule in self.matching {
            if rule.action.errno == code { return (rule, nil) }
            guard let table = self.table(of: rule) else { continue }
            let candidates = refusing.filter {
                $0.table == table && $0.kind.errno == code && $0.prefix.contains(self.packet.destination)
            }
            if let route = candidates.max(by: { $0.prefix.length < $1.prefix.length }) { return (rule, route) }
        }
        return (nil, nil)
    }
}

extension KernelRule {
    fileprivate func selects(_ packet: RuleEvaluation.Packet) -> Bool {
        if let mark = self.mark, (mark.value ^ packet.mark) & mark.mask != 0 { return false }
        if let range = self.uidRange, !range.contains(packet.uid) { return false }
        if let name = self.inputName, name != packet.loopbackName { return false }
        if let name = self.outputName, name != packet.outputName { return false }
        if self.isL3Master, packet.l3Table == nil { return false }
        return self.selectsAddresses(of: packet) && self.selectsTransport(of: packet)
    }

    private func selectsAddresses(of packet: RuleEvaluation.Packet) -> Bool {
        if let prefix = self.destination, !prefix.contains(packet.destination) { return false }
        guard let prefix = self.source else { return true }
        guard let source = packet.source else {
            // The kernel compares an IPv4 source that is not chosen yet as 0.0.0.0.
            return packet.destination.family == .ipv4 && prefix.contains(IPAddress(ipv4: 0))
        }
        return prefix.contains(source)
    }

    private func selectsTransport(of packet: RuleEvaluation.Packet) -> Bool {
        if let number = self.ipProtocol, number != packet.ipProtocol { return false }
        if self.typeOfService != 0 || self.sourcePorts != nil { return false }
        guard let ports = self.destinationPorts else { return true }
        return packet.port.map(ports.contains) ?? false
    }
}

extension KernelRule.Action {
    /// The error number of a lookup that ends at this action.
    fileprivate var errno: Int32? {
        switch self {
        case .lookup, .goTo, .other: nil
        case .unreachable: 101
        case .prohibit: 13
        case .blackhole: 22
        }
    }
}

extension KernelRoute.Kind {
    /// The error number of a lookup that ends at a route of this kind.
    fileprivate var errno: Int32? {
        switch self {
        case .blackhole: 22
        case .unreachable: 113
        case .prohibit: 13
        default: nil
        }
    }
}
