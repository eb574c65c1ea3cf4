@testable import TidegateCore
import Tidegate
import TidegateTestKit

/// Values that tests draw.
enum Samples {
    static let carrierless = Link(
        name: "eth0", index: 2, kind: .ethernet, isAdminUp: true, hasCarrier: false, operState: .down,
        reason: .noCarrier)

    static let loopback = Link(
        name: "lo", index: 1, kind: .loopback, isAdminUp: true, hasCarrier: true, operState: .unknown,
        reason: .noInterface, addresses: prefixes("127.0.0.1/8"))

    static var up: Link {
        var link = self.carrierless
        (link.hasCarrier, link.operState, link.reason) = (true, .up, nil)
        link.addresses = self.prefixes("10.0.0.2/24", "2001:db8:1234:5678:abcd:ef01:2345:6789/64", "fe80::1/64")
        return link
    }

    static let path = NetworkPath(
        interface: "eth0", index: 2, gateway: IPAddress("10.0.0.1"), source: IPAddress("10.0.0.2"), table: 254)

    static let routed = Verdict(level: .routed, path: path)

    static func status(
        _ global: Verdict, ipv4: Verdict, ipv6: Verdict, links: [Link], targets: [TargetVerdict] = []
    ) -> ReachabilityStatus {
        ReachabilityStatus(
            global: global, mode: .once,
            families: [.init(family: .ipv4, verdict: ipv4), .init(family: .ipv6, verdict: ipv6)], links: links,
            targets: targets, health: .init(isConsistent: true))
    }

    static func prefixes(_ texts: String...) -> [IPPrefix] {
        texts.compactMap { text in
            let parts = text.split(separator: "/")
            guard let address = IPAddress(String(parts[0])), let length = Int(parts[1]) else { return nil }
            return IPPrefix(address, length: length)
        }
    }

    static func target(_ text: String) throws -> Target { try Target(text) }

    static let id: TaskID = {
        var generator = SystemRandomNumberGenerator()
        return TaskID(at: WallTime(microseconds: 0), using: &generator)
    }()

    static func info(_ state: TaskState, _ progress: TransferProgress) -> TaskInfo {
        TaskInfo(
            id: self.id, kind: .download, method: "GET", url: "http://a.example/big.iso", state: state,
            progress: progress, created: WallTime(microseconds: 0))
    }

    static func result(
        _ outcome: TaskOutcome, _ failure: TaskFailure? = nil, attempts: Int = 1, party: Attribution? = nil,
        held: [HoldReason: Duration] = [:], activeTime: Duration? = nil, requireUnmet: Requirement? = nil
    ) -> TaskResult {
        TaskResult(
            id: self.id, kind: .download, method: "GET", url: "http://a.example/big.iso", outcome: outcome,
            bytes: 67_108_864, attempts: attempts, held: held, duration: .seconds(32), failure: failure,
            attribution: party, requireUnmet: requireUnmet, activeTime: activeTime)
    }
}
