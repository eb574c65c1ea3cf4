/// What is wrong with the network behind the gateway.
package enum ProviderCause: Sendable, Hashable, CauseKind {
    /// The gateway answers, and nothing beyond it does.
    case nothingBeyond(gateway: IPAddress?)
    /// Packets to different networks get no further than this router.
    case ends(after: IPAddress)
    /// The gateway has no way to what lies beyond it.
    case noRoute(ICMPError)
    /// The internet checks fail.
    case checksFail
    /// A captive portal answers, and redirects there if it says where.
    case portal(location: String?)

    package var description: String {
        switch self {
        case .nothingBeyond(let gateway):
            "\(gateway.map { "the gateway \($0)" } ?? "the gateway") answers, and nothing beyond it does"
        case .ends(let router): "packets get no further than \(router), wherever they go"
        case .noRoute(let error):
            error.kind == .noRoute
                ? "\(error.offender.map { "\($0)" } ?? "the gateway") has no route there (\(error.number))"
                : "the gateway says: \(error.kind) (\(error.number)), and nothing beyond it answers"
        case .checksFail: "internet checks fail"
        case .portal(let location): "a captive portal answers" + (location.map { ": it redirects to \($0)" } ?? "")
        }
    }

    var code: String {
        switch self {
        case .nothingBeyond: "nothingBeyondGateway"
        case .ends: "providerEnds"
        case .noRoute: "gatewayNoRoute"
        case .checksFail: "internetChecksFail"
        case .portal: "portal"
        }
    }
}
