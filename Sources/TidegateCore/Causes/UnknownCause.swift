/// What is known where nothing tells whose failure it is.
package enum UnknownCause: Sendable, Hashable, CauseKind {
    /// The gateway is on the link, and no router answers, itself included.
    case routerOrProvider(gateway: IPAddress)
    /// Nobody answers, and nobody else was asked.
    case silence
    /// The time ran out before anything failed.
    case notEnoughTime

    package var description: String {
        switch self {
        case .routerOrProvider(let gateway): "neither the gateway \(gateway) nor anything beyond it answers"
        case .silence: "no answer, and nothing says why"
        case .notEnoughTime: "the time ran out before anything failed"
        }
    }

    var code: String {
        switch self {
        case .routerOrProvider: "routerOrProvider"
        case .silence: "silence"
        case .notEnoughTime: "notEnoughTime"
        }
    }
}
