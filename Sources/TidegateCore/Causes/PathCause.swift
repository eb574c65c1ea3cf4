/// What is wrong between the provider and the target.
package enum PathCause: Sendable, Hashable, CauseKind {
    /// Packets go in circles.
    case loop(at: IPAddress?)
    /// A router on the way forbids it.
    case prohibits(ICMPError)
    /// A router on the way has no route.
    case noRoute(ICMPError)
    /// Packets end somewhere behind this router, while other hosts answer.
    case ends(after: IPAddress?)
    /// Small packets pass, and large ones do not.
    case largePackets

    package var description: String {
        switch self {
        case .loop(let router): "packets go in circles" + (router.map { " at \($0)" } ?? "")
        case .prohibits(let error): "\(Self.sender(error)) forbids it (\(error.number))"
        case .noRoute(let error): "\(Self.sender(error)) has no route there (\(error.number))"
        case .ends(let router):
            router.map { "packets get as far as \($0), the last router that answers" }
                ?? "packets are lost on the way, while other hosts answer"
        case .largePackets: "small packets pass, and large ones do not"
        }
    }

    var code: String {
        switch self {
        case .loop: "routingLoop"
        case .prohibits: "pathProhibits"
        case .noRoute: "pathNoRoute"
        case .ends: "pathEnds"
        case .largePackets: "largePacketsLost"
        }
    }

    private static func sender(_ error: ICMPError) -> String {
        error.offender.map { "\($0)" } ?? "a router on the way"
    }
}
