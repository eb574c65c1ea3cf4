internal import TidegateCore

/// This host, its path and its proxy.
enum HostRules {
    static let all: [Rule] = [
        Rule("the body is larger than this host allows", party: .mine) { $0.isAny(of: .tooLarge) },
        Rule("the failure is on this host", party: .mine) {
            $0.isAny(of: .invalidRequest, .fileError, .diskFull, .bodyChanged, .internal)
        },
        Rule("the server redirects", party: .theirs, rung: .http) { $0.isAny(of: .redirectRefused) },
        Rule("the kernel would not send") { $0.seen.kernel.map { .thisHost(.kernel($0)) } },
        Rule(
            "an address of the hosts file does not work, and DNS says another one",
            cause: { facts in
                guard case .hostsFile(let name, let dns)? = facts.seen.lookup, let address = facts.seen.peer,
                    !dns.contains(address)
                else { return nil }
                var seen = facts.seen
                seen.lookup = nil
                return DecisionTable.cause(of: seen).isOfAddress
                    ? .thisHost(.hostsFile(name, address: address, dns: dns)) : nil
            }),
        Rule("the gateway is what keeps a connection from its path", party: .gateway) {
            $0.seen.isOfThisPath && $0.lost?.verdict.reason?.party == .gateway
        },
        Rule(
            "this host had no path", party: .mine,
            clause: { facts in
                facts.lost.map { "no path \($0.moment): \($0.verdict.reason ?? .noRoute)" } ?? ""
            }, if: { $0.lost != nil }),
        Rule(
            "the path moved under the attempt", party: .mine, rung: .route,
            clause: { facts in
                "the path moved from \(facts.seen.before.path?.hop ?? "") to \(facts.seen.after.path?.hop ?? "") under "
                    + "the attempt"
            }, if: { $0.hasPathMoved }),
        Rule("the path of this host changed a moment ago", party: .mine, rung: .route) { $0.seen.isSettling },
        Rule("a captive portal answers in the target's place", rung: .internet) { $0.portal },
        Rule("the proxy does not let this host through", party: .mine, rung: .http) { $0.seen.proxyAnswer == .denied },
        Rule("the proxy answers, and reaches no server", party: .theirs, rung: .tcp) { $0.seen.proxyAnswer == .failed },
    ]
}

extension Cause {
    // The address itself may be the wrong one.
    fileprivate var isOfAddress: Bool {
        switch self {
        case .server(.refused), .server(.gone), .server(.absent), .server(.portSilent), .onTheWay,
            .unknown(.silence), .thisHost(.nothingListens):
            true
        default: false
        }
    }
}
