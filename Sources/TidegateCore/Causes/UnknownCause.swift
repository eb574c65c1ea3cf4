/// What is known where nothing tells whose failure it is.
package enum UnknownCause: Sendable, Hashable {
    /// The gateway is on the link, and no router answers, itself included.
    case routerOrProvider(gateway: IPAddress)
    /// Nobody answers, and nobody else was asked.
    case silence
    /// The time ran out before anything failed.
    case notEnoughTime
}

extension UnknownCause: CauseKind {
    package var description: String {
        switch self {
        case .routerOrProvider(let gateway): "neither the gateway \(gateway) nor anything beyond it answers"
        case .silence: "no answer, and nothing says why"
        case .notEnoughTime: "the time ran out before anything failed"
        }
    }

    func advice(for target: Target) -> String {
        switch self {
        case .routerOrProvider(let gateway):
            "Ask the gateway itself, by its own page or console at \(gateway): whether it has a link to the provider tells."
        case .silence:
            "Try a second host elsewhere: if it answers, the failure is on the way to \(target.shownHost) or there."
        case .notEnoughTime: "Try again with more time (--timeout)."
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
