internal import TidegateCore

/// Decides whether a gate is open, and why not.
enum GateEvaluator {
    enum Admission: Sendable, Hashable {
        case open
        case shut(Shut)
    }

    struct Shut: Sendable, Hashable {
        let reason: HoldReason
        let requirement: Requirement
        /// The missing condition: `eth0 has no carrier`.
        let clause: String

        /// The reason for the wait: `no path: eth0 has no carrier`.
        var message: String { self.sentence.text }

        /// The reason for giving up.
        var sentence: FailureSentence { FailureSentence(self.clause, of: self.reason == .path ? "no path" : nil) }
    }

    /// Evaluates requirements against a target's verdict; `family` returns the verdict of a family.
    ///
    /// A monitor that cannot see the network opens every gate. `hint` names the interface if the verdict names none,
    /// and `isInterface` returns whether a name refers to a path's link.
    static func evaluate(
        _ requirements: [Requirement], target: TargetVerdict, hint: String? = nil,
        isInterface: (String, NetworkPath) -> Bool = { $1.interface == $0 }, family: (AddressFamily) -> Verdict
    ) -> Admission {
        for requirement in requirements where requirement != .none {
            guard target.verdict.level != .unknown else { return .open }
            guard target.verdict.level >= .routed else {
                let reason = target.verdict.reason ?? .noRoute
                let link = target.verdict.path?.interface ?? hint
                let clause = reason.description(ofLink: link)
                return .shut(Shut(reason: .path, requirement: requirement, clause: clause))
            }
            if let clause = self.unmetReason(to: requirement, target, isInterface, family) {
                return .shut(Shut(reason: .constraint, requirement: requirement, clause: clause))
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
            let verdict = family(target.family)
            guard verdict.level != .online, verdict.level != .unknown else { return nil }
            return "not online: internet checks over \(target.family.rawValue) have not succeeded"
        case .unmetered:
            guard let path, path.metered.isCostly else { return nil }
            return "the path over \(path.interface) is metered"
        case .interface(let name):
            let used = target.addresses.compactMap(\.verdict.path) + [path].compactMap(\.self)
            guard !used.isEmpty, !used.contains(where: { isInterface(name, $0) }) else { return nil }
            return "the path leaves by \(used[0].interface), not by \(name)"
        }
    }
}
