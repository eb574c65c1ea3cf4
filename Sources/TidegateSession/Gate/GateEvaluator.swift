internal import TidegateCore

/// Whether a gate is open, and why not.
enum GateEvaluator {
    enum Admission: Sendable, Hashable {
        case open
        case shut(Shut)
    }

    struct Shut: Sendable, Hashable {
        let reason: HoldReason
        let requirement: Requirement
        /// What is missing: `no path: eth0 has no carrier`.
        let message: String
    }

    /// Evaluates requirements against a target's verdict; `family` gives the verdict of a family.
    ///
    /// A monitor that cannot see the network opens every gate. `hint` names the interface if the verdict itself names
    /// none, and `isInterface` says whether a path's link is meant by a name.
    static func evaluate(
        _ requirements: [Requirement], target: TargetVerdict, hint: String? = nil,
        isInterface: (String, NetworkPath) -> Bool = { $1.interface == $0 }, family: (AddressFamily) -> Verdict
    ) -> Admission {
        for requirement in requirements where requirement != .none {
            guard target.verdict.level != .unknown else { return .open }
            guard target.verdict.level >= .routed else {
                let message = "no path: \(self.message(for: target.verdict, hint: hint))"
                return .shut(Shut(reason: .path, requirement: requirement, message: message))
            }
            if let message = self.unmetReason(to: requirement, target, isInterface, family) {
                return .shut(Shut(reason: .constraint, requirement: requirement, message: message))
            }
        }
        return .open
    }

    private static func unmetReason(
        to requirement: Requirement, _ target: TargetVerdict, _ isInterface: (String, NetworkPath) -> Bool,
        _ family: (AddressFamily) -> Verdict
    ) -> String? {
        let path = target.verdict.path
        switch requirement {
        case .none, .routed: return nil
        case .online:
            let verdict = family(self.familyInUse(target))
            guard verdict.level != .online, verdict.level != .unknown else { return nil }
            return "not online: internet checks over \(self.familyInUse(target).rawValue) have not succeeded"
        case .unmetered:
            guard let path, path.metered.isCostly else { return nil }
            return "the path over \(path.interface) is metered"
        case .interface(let name):
            let used = target.addresses.compactMap(\.verdict.path) + [path].compactMap(\.self)
            guard !used.isEmpty, !used.contains(where: { isInterface(name, $0) }) else { return nil }
            return "the path leaves by \(used[0].interface), not by \(name)"
        }
    }

    private static func familyInUse(_ target: TargetVerdict) -> AddressFamily {
        let best = target.addresses.first { $0.verdict.level == target.verdict.level }
        return (best?.address ?? target.target.address ?? target.verdict.path?.source)?.family ?? .ipv4
    }

    private static func message(for verdict: Verdict, hint: String?) -> String {
        let link = verdict.path?.interface ?? hint ?? "the link"
        switch verdict.reason {
        case .noInterface: return "there is no usable interface"
        case .adminDown: return "\(link) is switched off"
        case .noCarrier: return "\(link) has no carrier"
        case .dormant: return "\(link) waits to be let into the network"
        case .lowerLayerDown: return "the link below \(link) is down"
        case .noAddress: return "\(link) has no address"
        case .linkLocalOnly: return "\(link) has only link-local addresses"
        case .tentative: return "the address of \(link) is not confirmed yet"
        case .dadFailed: return "the address of \(link) belongs to somebody else"
        case .noRoute, nil: return "no route leads to the target"
        case .routeUnreachable: return "a route says that the target is unreachable"
        case .prohibited: return "a route or rule prohibits the target"
        case .blackholed: return "a route or rule swallows what goes to the target"
        case .noSourceAddress: return "no address of this host goes with the route"
        case .noSuchInterface: return "the route names an interface that does not exist"
        case .notAHost: return "the address is not a host's"
        case .gatewayUnresolved, .gatewaySilent: return "the gateway does not answer"
        case .resolverNoRoute: return "no route leads to a name resolver"
        case .resolverTimeout: return "no name resolver answers"
        case .resolverFailed: return "the name resolver fails"
        case .nameNotFound: return "the name does not exist"
        case .portal: return "a captive portal answers"
        case .limited, .refused, .hostUnreachable, .timeout, .tlsFailed, .httpError: return "the network answers badly"
        case .monitorDown: return "the monitor cannot see"
        }
    }
}
