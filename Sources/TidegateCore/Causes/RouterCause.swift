/// What is wrong with the gateway on this host's link.
package enum RouterCause: Sendable, Hashable, CauseKind {
    /// No host on the link has its address.
    case absent(IPAddress, link: String)
    /// It was there and does not answer; `lastConfirmed` is how long ago it last did, if the kernel still knows.
    case silent(IPAddress, link: String, lastConfirmed: Duration?)
    /// Its firewall forbids it.
    case prohibits(ICMPError)

    package var description: String {
        switch self {
        case .absent(let address, let link): "no host on \(link) has the gateway's address \(address)"
        case .silent(let address, link: _, let confirmed):
            "the gateway \(address) does not answer"
                + (confirmed.map { ", last confirmed \(DurationText($0)) ago" } ?? "")
        case .prohibits(let error): "the firewall of \(Self.sender(error)) forbids it (\(error.number))"
        }
    }

    var code: String {
        switch self {
        case .absent: "gatewayAbsent"
        case .silent: "gatewaySilent"
        case .prohibits: "gatewayProhibits"
        }
    }

    private static func sender(_ error: ICMPError) -> String { error.offender.map { "\($0)" } ?? "the gateway" }
}
