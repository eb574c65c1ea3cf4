internal import TidegateCore

extension ReachabilityLevel {
    var tone: EventLine.Tone {
        switch self {
        case .none, .local: .bad
        case .limited, .portal: .wait
        case .routed, .online: .good
        case .unknown: .plain
        }
    }
}
